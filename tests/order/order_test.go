// Package order records threads that hand blocks to each other as fast as they can, on allocators that give an address out
// again at once, and stops single threads in between. The program writes down which blocks it made and ended; the recording
// must say the same of every single one.
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
)

// kit is what the tests run.
var kit struct{ dir, heaptap, rings, pool string }

func TestMain(m *testing.M) {
	status := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	os.RemoveAll(kit.dir)
	os.Exit(status)
}

func build() (err error) {
	if kit.dir, err = os.MkdirTemp("", "heaptap-order-"); err != nil {
		return err
	}
	kit.rings, kit.pool = filepath.Join(kit.dir, "rings"), filepath.Join(kit.dir, "pool.so")
	commands := [][]string{
		{"gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", kit.rings, "src/rings.c"},
		{"gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-shared", "-fPIC", "-o", kit.pool, "src/pool.c"},
	}
	if kit.heaptap = os.Getenv("HEAPTAP_BINARY"); kit.heaptap == "" {
		kit.heaptap = filepath.Join(kit.dir, "heaptap")
		commands = append(commands, []string{"go", "build", "-o", kit.heaptap, "github.com/heaptap/heaptap/cmd/heaptap"})
	}
	for _, c := range commands {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, out)
		}
	}
	return nil
}

// allocators are what the program runs on: a library to preload, or glibc's.
func allocators(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{"glibc": "", "pool": kit.pool}
	for name, pattern := range map[string]string{"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4", "mimalloc": "libmimalloc.so.2*"} {
		found, _ := filepath.Glob("/usr/lib/*/" + pattern)
		if len(found) == 0 {
			t.Logf("%s is not installed", name)
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
	r.cmd = exec.CommandContext(ctx, kit.heaptap, "run", "-q", "-o", r.out, "--", kit.rings, r.path, fmt.Sprint(operations), fmt.Sprint(pace))
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
	t.Logf("%d pairs right, %d of other threads' blocks; %d addresses passed to another thread; %d reallocations (%d in place), %d failed; "+
		"%d events took another's time (%d records came late), %d deallocations were settled out of their thread's order, %d were exchanged",
		n.pairs, n.foreign, n.handed, sum.Totals.Reallocations, sum.Totals.InPlace, sum.Totals.Failed, sum.Totals.Late, h.LateEvents, n.reordered, n.exchanged)
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
