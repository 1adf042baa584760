package launch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSafe: root's programs load no library from where another user could exchange it.
func TestSafe(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make another user's folders")
	}
	base, err := os.MkdirTemp("/tmp", "heaptap-safe-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	for name, mode := range map[string]os.FileMode{"ours": 0o755, "theirs": 0o755, "theirs/ours": 0o755, "open": 0o777,
		"sticky": 0o777 | os.ModeSticky} {
		must(t, os.MkdirAll(filepath.Join(base, name), 0o755))
		must(t, os.Chmod(filepath.Join(base, name), mode))
	}
	must(t, os.Chown(filepath.Join(base, "theirs"), 12345, 12345))
	must(t, os.Symlink("theirs", filepath.Join(base, "way")))
	must(t, os.Symlink("ours", filepath.Join(base, "theirway")))
	must(t, os.Lchown(filepath.Join(base, "theirway"), 12345, 12345))
	for name, want := range map[string]bool{"ours": true, "ours/none/yet": true, "sticky": true, "theirs": false,
		"theirs/ours":     false,
		"theirs/none/yet": false, "open": false, "way": false, "way/none": false, "theirway": false} {
		if got := safe(filepath.Join(base, name)); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(base, "theirs"))
	for _, b := range agentBases([]string{filepath.Join(base, "open")}) {
		if filepath.Dir(b) != "/" && b != "/var/tmp" && b != "/dev/shm" {
			t.Errorf("the library may be unpacked into %s", b)
		}
	}
}
