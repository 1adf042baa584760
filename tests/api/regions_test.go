package api

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestRegions reads the notes off the spool that the agent leaves without a recorder.
func TestRegions(t *testing.T) {
	t.Parallel()
	program, dir := compile(t, "src/regions.cc"), t.TempDir()
	run(t, 0, []string{"LD_PRELOAD=" + library(t, dir), "HEAPTAP_DIR=" + dir}, program)
	spools, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
	if len(spools) != 1 {
		t.Fatalf("spools %v", spools)
	}
	s, err := spool.Open(spools[0], "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := &notes{tables: s.Tables(), of: map[uint32][]string{}}
	defer n.tables.Close()
	reader := s.Reader()
	defer reader.Close()
	if err := reader.Round(n, func(uint32) bool { return true }); err != nil {
		t.Fatal(err)
	}

	want := []string{
		`thread "the main thread"`,
		`range "a page" 0x123456789000+4096`,
		`begin "event" [7 -8]`, "1001",
		`begin "module" [1 2 3 4]`, "1002", `end "module"`,
		"1003", `mark "amid the event"`,
		`end "event"`,
	}
	want = append(want, slices.Repeat([]string{`begin "deep" []`}, 10000)...)
	want = append(want, slices.Repeat([]string{`end "deep"`}, 10000)...)
	want = append(want, `begin "forks" []`, `end "forks"`, `begin "" []`, `end ""`,
		`begin "`+strings.Repeat("x", 999)+`" []`, `begin "left open" []`)
	same(t, "of the program", n.of[0], want)
	same(t, "of the child", n.of[1], []string{`begin "forks" []`, `begin "in the child" []`, `end "in the child"`, `end "forks"`})
	if n.err != nil {
		t.Error(n.err)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s: %d notes, want %d; the first %d are right\ngot  %q\nwant %q", what, len(got), len(want), i,
				got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
			return
		}
	}
}

// notes is a spool.Sink that keeps notes, and allocations of 1001 to 1009 bytes, by process.
type notes struct {
	tables *spool.Tables
	of     map[uint32][]string
	extras []uint64
	err    error
}

func (n *notes) Buffer(size int) []byte { return make([]byte, size) }

func (n *notes) Data(st *spool.Stream, b []byte) {
	for len(b) > 0 {
		var r wire.Record
		size := wire.Decode(b, &r)
		if size == 0 {
			n.err = fmt.Errorf("a record cannot be read")
			return
		}
		b = b[size:]
		n.take(st.Proc, &r)
	}
}

func (n *notes) Spilled(st *spool.Stream, f *os.File, offset int64, size int) {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, offset); err != nil {
		n.err = err
	}
	n.Data(st, b)
}

func (n *notes) End(*spool.Stream)                   {}
func (n *notes) Damaged(st *spool.Stream, err error) { n.err = err }
func (n *notes) add(proc uint32, f string, args ...any) {
	n.of[proc] = append(n.of[proc], fmt.Sprintf(f, args...))
}

func (n *notes) take(proc uint32, r *wire.Record) {
	class := wire.Class(r.Kind)
	if class == wire.ClassExtra {
		n.extras = append(n.extras, r.Value)
		return
	}
	extras := n.extras
	n.extras = nil
	if class == wire.ClassStack && r.Size > 1000 && r.Size < 1010 {
		n.add(proc, "%d", r.Size)
	}
	if class != wire.ClassNote {
		return
	}
	name, ok := n.tables.Name(uint32(r.Addr))
	if !ok {
		n.err = fmt.Errorf("there is no name %d", r.Addr)
	}
	switch r.Kind {
	case wire.KMark:
		n.add(proc, "mark %q", name)
	case wire.KThreadName:
		n.add(proc, "thread %q", name)
	case wire.KRegionBegin:
		ids := make([]int64, len(extras))
		for i, x := range extras {
			ids[i] = int64(x)
		}
		n.add(proc, "begin %q %v", name, ids)
	case wire.KRegionEnd:
		n.add(proc, "end %q", name)
	case wire.KRangeName:
		n.add(proc, "range %q %#x+%d", name, extras[0], extras[1])
	}
}
