package flagfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/flagfile"
)

func read(t *testing.T, text string) (map[string][]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return flagfile.Read(path, []string{"mark-when", "top", "quiet", "output"})
}

// TestEntry: what is written is read again.
func TestEntry(t *testing.T) {
	list := []string{"rss>2GiB", "a\"b\\c\n\x7f<&>", ""}
	got, err := read(t, flagfile.Entry("mark-when", "when", flagfile.List(list), true)+
		flagfile.Entry("output", "where", flagfile.Text(list[1]), true)+flagfile.Entry("top", "how many", "5", false)+
		flagfile.Entry("quiet", "say less", "true", true))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got["mark-when"], list) || !slices.Equal(got["output"], list[1:2]) ||
		!slices.Equal(got["quiet"], []string{"true"}) || got["top"] != nil {
		t.Errorf("%q", got)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"tpo = 5":                    `unknown key "tpo"; did you mean "top"?`,
		"[top]\na = 1":               `"top": a text, a number, true, false, or a list of texts is wanted`,
		"top = 1979-05-27":           `"top": a text`,
		"output = \"\x1b[31m":        "control characters",
		"top = 5\ntop = 6":           "top",
		"mark-when = [[\"rss>1G\"]]": `"mark-when": a text`,
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.ContainsAny(err.Error(), "\x1b") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := flagfile.Read("/nowhere/a.toml", nil); err == nil || err.Error() != "no such file or directory" {
		t.Errorf("missing: %v", err)
	}
	if v := flagfile.Variable("mark-every"); v != "HEAPTAP_MARK_EVERY" {
		t.Error(v)
	}
}
