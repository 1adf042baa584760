package exports

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestScrub scrubs recordings: they are valid, no number differs, and no name is left.
func TestScrub(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{host, dir, "sqlite3", "python3.", "four.cc", "torture", "create table", "plugin", "größe",
		"名前", "\"one.so"}
	each(t, func(t *testing.T, name, path string) {
		to := filepath.Join(t.TempDir(), "s.htap")
		command(t, "scrub", "--functions", "--salt", "pepper", "-o", to, path)
		if name != "torture" { // in which verify finds what is wrong
			command(t, "verify", to)
		}
		sameNumbers(t, path, to)
		text := command(t, "dump", to)
		text = append(text, command(t, "report", "--json", to)...)
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) {
				at := bytes.Index(text, []byte(s))
				t.Errorf("%q is not scrubbed: %.100q", s, text[max(0, at-50):])
			}
		}
		again := filepath.Join(t.TempDir(), "t.htap")
		command(t, "scrub", "--functions", "--salt", "pepper", "-o", again, path)
		a, err := os.ReadFile(to)
		b, err2 := os.ReadFile(again)
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("with one salt, two files differ: %v %v", err, err2)
		}
	})
}

// TestScrubMerged scrubs sums of several recordings, and one that is imported.
func TestScrubMerged(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	d := t.TempDir()
	merged := filepath.Join(d, "sum.htap")
	command(t, "merge", "-o", merged, list["four"], list["sqlite"])
	imported := filepath.Join(d, "imported.htap")
	command(t, "import", "-o", imported, exported(t, "pprof", list["four"]))
	for _, path := range []string{merged, imported} {
		to := filepath.Join(d, "s.htap")
		command(t, "scrub", "-f", "-o", to, path)
		command(t, "verify", to)
		sameNumbers(t, path, to)
		if text := command(t, "report", "--json", to); bytes.Contains(text, []byte("sqlite3 ")) ||
			bytes.Contains(text, []byte(dir)) {
			t.Errorf("%s: names are not scrubbed", path)
		}
	}
}

// sameNumbers holds that the reports of two recordings differ in texts only.
func sameNumbers(t *testing.T, a, b string) {
	t.Helper()
	var x, y any
	decode(t, command(t, "report", "--json", a), &x)
	decode(t, command(t, "report", "--json", b), &y)
	compareNumbers(t, "", x, y)
}

func compareNumbers(t *testing.T, at string, x, y any) {
	switch v := x.(type) {
	case map[string]any:
		w, ok := y.(map[string]any)
		if !ok || len(v) != len(w) {
			t.Errorf("%s: %v, was %v", at, y, x)
			return
		}
		for k := range v {
			if at+"."+k != ".recording.bytes" { // the file's length
				compareNumbers(t, at+"."+k, v[k], w[k])
			}
		}
	case []any:
		w, ok := y.([]any)
		if !ok || len(v) != len(w) {
			t.Errorf("%s: %v, was %v", at, y, x)
			return
		}
		for i := range v {
			compareNumbers(t, at+"[]", v[i], w[i])
		}
	case string:
		if _, ok := y.(string); !ok {
			t.Errorf("%s: %v, was %v", at, y, x)
		}
	default:
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s: %v, was %v", at, y, x)
		}
	}
}
