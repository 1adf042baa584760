// Package order records threads that hand blocks to each other as fast as they can, on allocators that give an address
// out again at once, and stops single threads in between. The program writes down which blocks it made and ended; the
// recording must say the same of every single one.
package order

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/verify"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

func TestMain(m *testing.M) { kit.Main(m) }

var flags = []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"}

// pool makes an allocator, to be preloaded, that gives an address out again at once.
func pool(t *testing.T) string {
	t.Helper()
	return kit.Compile(t, "gcc", append(flags, "-shared", "-fPIC", "src/pool.c")...)
}

// allocators are what the program runs on: a library to preload, or glibc's.
func allocators(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{"glibc": "", "pool": pool(t)}
	for name, pattern := range map[string]string{"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
		"mimalloc": "libmimalloc.so.2*"} {
		found, _ := filepath.Glob("/usr/lib/*/" + pattern)
		if len(found) == 0 {
			t.Run(name, func(t *testing.T) { need.Lacks(t, name+" is not installed") })
			continue
		}
		list[name] = found[0]
	}
	return list
}

// run is the program under heaptap.
type run struct {
	*truth
	cmd    *exec.Cmd
	out    string
	stderr strings.Builder
}

func start(t *testing.T, preload string, operations, pace int) *run {
	t.Helper()
	dir := t.TempDir()
	r := &run{truth: newTruth(t, filepath.Join(dir, "log"), operations), out: filepath.Join(dir, "rings.htap")}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r.cmd = exec.CommandContext(ctx, kit.Binary(t), "run", "-q", "-o", r.out, "--",
		kit.Compile(t, "gcc", append(flags, "src/rings.c")...), r.path, fmt.Sprint(operations), fmt.Sprint(pace))
	r.cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload)
	r.cmd.Stderr = &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// judge waits for the program's end and compares the recording with what the program wrote down.
func (r *run) judge(t *testing.T) event.Health {
	t.Helper()
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, r.stderr.String())
	}
	rec, err := recording.Open(r.out)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	said, err := hear(rec)
	if err != nil {
		t.Fatal(err)
	}
	n := r.compare(t, said)
	sum, err := rec.Tally()
	if err != nil {
		t.Fatal(err)
	}
	h := rec.Health()
	if sum.Totals.Unmatched != 0 || sum.Totals.Unseen != 0 || h.LostEvents != 0 {
		t.Errorf("%d unmatched, %d unseen, %d lost events", sum.Totals.Unmatched, sum.Totals.Unseen, h.LostEvents)
	}
	v, err := verify.File(r.out)
	if err != nil || !v.OK || len(v.Missing) > 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	t.Logf("%d pairs right, %d of other threads' blocks; %d addresses passed to another thread; %d reallocations "+
		"(%d in place), %d failed; %d events took another's time (%d records came late), %d deallocations were "+
		"settled out of their thread's order, %d were exchanged",
		n.pairs, n.foreign, n.handed, sum.Totals.Reallocations, sum.Totals.InPlace, sum.Totals.Failed, sum.Totals.Late,
		h.LateEvents, n.reordered, n.exchanged)
	if n.pairs < 1000 || n.handed < 100 || sum.Totals.Reallocations < 1000 {
		t.Error("that is too little to prove anything")
	}
	return h
}

// TestRace lets the threads run as fast as they can.
func TestRace(t *testing.T) {
	for name, preload := range allocators(t) {
		t.Run(name, func(t *testing.T) {
			start(t, preload, 60_000, 0).judge(t)
		})
	}
}
