package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/record/watch"
)

// FuzzCondition: what is accepted as a condition of --mark-when means the same when it is written again, and has a
// limit that can be met.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{"rss>2GiB", "live > 1G", "virt<1", "allocations>1M", "stack>4MiB", "system-free<5%",
		"system-free<1e-400%", "rss>9999999T", "live<0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCondition(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		again, err := parseCondition(c.Text)
		if err != nil || again != c {
			t.Errorf("%q: %+v, again %+v, %v", text, c, again, err)
		}
		if c.Measure > watch.StackDepth || c.Share < 0 || c.Share > 1 || c.Limit > 1<<63 || c.Below && c.Limit == 0 &&
			c.Share == 0 {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// FuzzConfig: a configuration file that is accepted says, printed by --print-config, the same again.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"mark-every = \"10s\"\nfree-stacks = true",
		"top = 3\nmark-when = [\"rss>2GiB\", \"live>1GiB\"]", "mode = \"sampled\"", "[a]\nb = 1",
		"output = \"a\\u007f\\n\\\"b\"", "export = [\"folded\"]\nkeep = \"10m\"", "top = 1.5", "mark-on = 1979-05-27", "q", "stack-min = [[1]]", "mode = \"\\\x00\""} {
		f.Add([]byte(s))
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "HEAPTAP_") {
			os.Unsetenv(name)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		first, ok := configured(t, file)
		if !ok {
			return
		}
		second, ok := configured(t, first)
		if !ok || !bytes.Equal(first, second) {
			t.Errorf("%q is printed as\n%s\nand that, read again, as\n%s", file, first, second)
		}
	})
}

// configured is what --print-config prints of a file; false if the file is not accepted.
func configured(t *testing.T, file []byte) ([]byte, bool) {
	path := filepath.Join(t.TempDir(), "heaptap.toml")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := newRunCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--config", path, "--print-config"})
	if err := cmd.Execute(); err != nil {
		if strings.ContainsAny(err.Error(), "\x00\x1b") {
			t.Errorf("%q", err)
		}
		return nil, false
	}
	return out.Bytes(), true
}
