package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzConfig: what --print-config prints of an accepted file is a file that means the same.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"mark-every = \"10s\"\nfree-stacks = true",
		"top = 3\nmark-when = [\"rss>2GiB\", \"live>1GiB\"]", "mode = \"sampled\"", "[a]\nb = 1",
		"output = \"a\\u007f\\n\\\"b\"", "export = [\"folded\"]\nkeep = \"10m\"", "top = 1.5",
		"mark-on = 1979-05-27", "q",
		"stack-min = [[1]]", "mode = \"\\\x00\""} {
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

// configured returns what --print-config prints of a file; false if the file is not accepted.
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
