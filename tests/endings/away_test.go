package endings

import (
	"testing"
)

// TestAway takes from a process what it would need to open a file, and then makes all arrays of its spool grow.
func TestAway(t *testing.T) {
	t.Parallel()
	away := program(t, "away")
	for _, how := range []string{"stays", "closes", "dups", "files", "chroot", "user", "everything", "sandbox",
		"mounts", "pids", "users", "undumpable", "exec-as-user"} {
		t.Run(how, func(t *testing.T) {
			r := recorded(t, 7, away, how)
			if how == "pids" { // its process ids belong to other processes here, so run may take them for still running
				r.complete(t, 83)
			}
			r.filtered = how == "sandbox"
			r.judge(t, 0)
		})
	}
}
