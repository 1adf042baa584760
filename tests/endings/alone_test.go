package endings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

// TestAloneAway preloads the library without a recorder and takes the way to the spill file from the process: full
// chunks then stay in the spool.
func TestAloneAway(t *testing.T) {
	t.Parallel()
	away := program(t, "away")
	for _, how := range []string{"stays", "closes", "chroot", "user", "everything"} {
		t.Run(how, func(t *testing.T) {
			r := prepare(t, true, nil, nil, away, how, "alone")
			r.cmd.Env = append(r.cmd.Env, "LD_PRELOAD="+kit.Library(t), "HEAPTAP_DIR="+r.out)
			status := r.run(t)
			if status == 77 {
				t.Skip(r.stdout.String())
			}
			kit.Same(t, "exit status", status, 7)
			spools, _ := filepath.Glob(filepath.Join(r.out, "*.spool"))
			spills, _ := filepath.Glob(filepath.Join(r.out, "*.spill"))
			if len(spools) != 1 {
				t.Fatalf("%d spools, want 1\n%s", len(spools), r.stderr.String())
			}
			kit.Same(t, "spill files", len(spills), map[string]int{"stays": 1, "closes": 1}[how])
			report, err := (&programs.Kit{Heaptap: kit.Binary(t)}).Report(spools[0])
			if err != nil {
				t.Fatal(err)
			}
			got, want := report.Below("step_alloc"), r.page[0]
			kit.Same(t, "allocations, deallocations, bytes, lost, unmatched",
				[]uint64{got.Allocations, got.Deallocations, got.Bytes, *report.Lost, report.Totals.Unmatched},
				[]uint64{want.Allocations, want.Deallocations, want.Bytes, 0, 0})
			st, _ := os.Stat(spools[0])
			t.Logf("%d steps, a spool of %d bytes", want.Allocations+want.Deallocations, st.Size())
		})
	}
}
