package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/spool"
)

func TestProgramName(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "dash")
	for _, err := range []error{
		os.WriteFile(exe, []byte("program"), 0o755), os.Symlink("dash", filepath.Join(dir, "sh")),
		os.Mkdir(filepath.Join(dir, "bin"), 0o755),
		os.Symlink("../dash", filepath.Join(dir, "bin", "ash")), os.WriteFile(filepath.Join(dir, "other"), nil, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/nonexistent:"+filepath.Join(dir, "bin"))
	for called, want := range map[string]string{
		"sh": "sh", "-sh": "sh", "ash": "ash", "./sh": "sh", "bin/ash": "ash", dir + "/sh": "sh", "dash": "dash",
		"other": "dash", "./other": "dash", "nginx: worker process": "dash", "": "dash", "/": "dash", "..": "dash",
		"bin/..": "dash", "sh/": "sh",
	} {
		meta := spool.Meta{Exe: exe, Args: []string{called}, Dir: dir}
		if got := programName(&meta); got != want {
			t.Errorf("called by %q: %q, want %q", called, got, want)
		}
	}
	if got := programName(&spool.Meta{Exe: exe}); got != "dash" {
		t.Errorf("without arguments: %q", got)
	}
	if got := programName(&spool.Meta{Args: []string{"sh"}}); got != "program" {
		t.Errorf("without a file: %q", got)
	}
}
