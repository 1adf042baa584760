package endings

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
)

// TestDamage flips bits of a spool, and of its spill file, that a process has left behind: what comes of them is what
// came before, or the recording says that something is missing. What is excepted is in docs/design/0002-the-agent.md.
func TestDamage(t *testing.T) {
	t.Parallel()
	r := prepare(t, true, nil, nil, program(t, "ends"), "return", "4000")
	r.cmd.Env = append(r.cmd.Env, "LD_PRELOAD="+kit.Library(t), "HEAPTAP_DIR="+r.out)
	kit.Same(t, "exit status", r.run(t), 7)
	spools, _ := filepath.Glob(filepath.Join(r.out, "*.spool"))
	spills, _ := filepath.Glob(filepath.Join(r.out, "*.spill"))
	if len(spools) != 1 || len(spills) != 1 {
		t.Fatalf("%v, %v: want one of each", spools, spills)
	}
	want, said := converted(t, spools[0])
	if said {
		t.Fatal("what is whole is said to be damaged")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, n := range []int{80, 20} {
		path := []string{spools[0], spills[0]}[i]
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		reported, silent := 0, 0
		for at := range places(t, f, rnd, n) {
			old := make([]byte, 1)
			if _, err := f.ReadAt(old, at); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte{old[0] ^ byte(1+rnd.IntN(255))}, at); err != nil {
				t.Fatal(err)
			}
			got, said := converted(t, spools[0])
			if _, err := f.WriteAt(old, at); err != nil {
				t.Fatal(err)
			}
			if said {
				reported++
			} else if got != want {
				silent++
				t.Logf("%s: byte %d (%#x): other numbers, and not a word", filepath.Base(path), at, at)
			}
		}
		t.Logf("%s: of %d damaged bytes, %d are reported", filepath.Base(path), n, reported)
		if silent > 0 {
			t.Errorf("%s: of %d damaged bytes, %d go unnoticed", filepath.Base(path), n, silent)
		}
	}
}

// places yields n places of a file at random where there is something, most of them not 0.
func places(t *testing.T, f *os.File, rnd *rand.Rand, n int) func(func(int64) bool) {
	var all []int64
	for at := int64(0); ; {
		begin, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		end, err2 := unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		b := make([]byte, end-begin)
		if _, err := f.ReadAt(b, begin); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		for i := range b {
			if b[i] != 0 || i%256 == 0 {
				all = append(all, begin+int64(i))
			}
		}
		at = end
	}
	return func(yield func(int64) bool) {
		for range n {
			if !yield(all[rnd.IntN(len(all))]) {
				return
			}
		}
	}
}

// converted returns what a spool's recording says, in short, and whether it says that something is wrong.
func converted(t *testing.T, path string) (digest string, said bool) {
	out := filepath.Join(t.TempDir(), "out.htap")
	defer os.Remove(out)
	if err := record.Convert(context.Background(), path, out); err != nil {
		return "", true
	}
	rec, err := recording.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	h := rec.Health()
	sum := sha256.New()
	fmt.Fprint(sum, rec.Process().Args, rec.Process().PID)
	// No times: they depend on how well the counter's frequency is known at this moment.
	for _, th := range rec.Threads() {
		fmt.Fprint(sum, th.TID, th.Name)
	}
	err = rec.Events(func(e *event.Event) bool {
		fmt.Fprint(sum, e.Kind, e.Func, e.Size, e.Usable, e.Thread)
		for id := e.Stack; id != 0; {
			node, ok := rec.Nodes().Get(id)
			if !ok {
				break
			}
			for _, f := range rec.Frames(node.PC) {
				fmt.Fprint(sum, f.Function)
			}
			id = node.Parent
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), len(h.Notes) > 0 || h.LostEvents > 0
}
