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
	"github.com/heaptap/heaptap/tests/kit"
)

// TestRegions reads the notes off the spool that the agent leaves without a recorder.
func TestRegions(t *testing.T) {
	t.Parallel()
	program, dir := compile(t, "src/regions.cc"), t.TempDir()
	kit.Command{Env: []string{"LD_PRELOAD=" + kit.Library(t), "HEAPTAP_DIR=" + dir}}.Run(t, program)
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
	same(t, "of the child", n.of[1], []string{`begin "forks" []`, `begin "in the child" []`, `end "in the child"`,
		`end "forks"`})
	if n.err != nil {
		t.Error(n.err)
	}
}

// TestRegionsInTheRecording asks the recording of the same program: an exception leaves a region, 10,000 nest, one that
// is left open ends with its thread, and a forked child continues in those of the thread that forked.
func TestRegionsInTheRecording(t *testing.T) {
	t.Parallel()
	rows := regionRows(t, recorded(t, compile(t, "src/regions.cc"), false))
	of := map[string][]regionRow{}
	for _, row := range rows {
		of[row.Title] = append(of[row.Title], row)
	}
	one := func(title string) regionRow {
		t.Helper()
		if len(of[title]) != 1 {
			t.Fatalf("%q was entered %d times", title, len(of[title]))
		}
		return of[title][0]
	}
	// Of the module: 1002 bytes, and what was thrown: __cxa_allocate_exception's header of 128 bytes and a
	// runtime_error, whose text is a block of its own (_Rep: three words, 16 characters, a NUL). The handler lies
	// behind its end, and frees the exception.
	event, module := one("event/7/-8"), one("module/1/2/3/4")
	text, thrown := uint64(3*8+len("through a region")+1), uint64(128+16)
	if module.Allocations != 3 || module.Deallocations != 1 || module.Requested != 1002+text+thrown ||
		module.Depth != 1 || module.Open {
		t.Errorf("module: %+v", module)
	}
	if event.Allocations != 5 || event.Deallocations != 5 || event.Requested != 1001+1003+module.Requested ||
		event.Added != 0 || event.Open {
		t.Errorf("event: %+v", event)
	}
	if module.Begin < event.Begin || module.End > event.End || module.End < module.Begin {
		t.Errorf("the module, %d to %d, is not within the event, %d to %d", module.Begin, module.End, event.Begin,
			event.End)
	}
	deep := of["deep"]
	if len(deep) != 10000 {
		t.Fatalf("%d nested regions", len(deep))
	}
	for i, row := range deep {
		if row.Depth != i || row.Open || row.Allocations != 0 || i > 0 &&
			(row.Begin < deep[i-1].Begin || row.End > deep[i-1].End) {
			t.Fatalf("nested region %d: %+v", i, row)
		}
	}
	if open := one("left open"); !open.Open || open.End < open.Begin || open.Depth != 1 {
		t.Errorf("left open: %+v", open)
	}
	if forks := one("forks"); forks.Open || forks.Depth != 0 {
		t.Errorf("forks: %+v", forks)
	}

	// A child's thread is in none of the regions of its parent. pthread_create has allocated, in the thread that calls
	// it, the new one's dtv: two pointers for each of 2 entries, 14 to spare, and each module with thread-local
	// storage: the C library and the agent.
	dtv := 16 * (2 + 14 + 2)
	var got []string
	for _, row := range regionRows(t, recorded(t, compile(t, "src/forks.c"), true)) {
		got = append(got, fmt.Sprintf("%s %d %v %d", row.Title, row.Depth, row.Open, row.Requested))
	}
	same(t, "of the child", got, []string{fmt.Sprintf("outer/7 0 true %d", 111+dtv), "inner 1 false 111",
		fmt.Sprintf("child 1 false %d", dtv)})
}

// recorded records a program, and returns the path of its recording, or of that of its first child.
func recorded(t *testing.T, program string, child bool) string {
	t.Helper()
	dir := t.TempDir()
	kit.Heaptap(t, "run", "-q", "-o", filepath.Join(dir, "%n.htap"), "--", program)
	name := filepath.Base(program)
	if child {
		name += ".2"
	}
	return filepath.Join(dir, name+".htap")
}

// regionRow is a line of heaptap regions.
type regionRow struct {
	Title         string `json:"region"`
	Depth         int    `json:"depth"`
	Begin         int64  `json:"begin_ns"`
	End           int64  `json:"end_ns"`
	Open          bool   `json:"never_left"`
	Allocations   uint64 `json:"allocations"`
	Deallocations uint64 `json:"deallocations"`
	Requested     uint64 `json:"requested"`
	Added         int64  `json:"added"`
}

func regionRows(t *testing.T, path string) []regionRow {
	t.Helper()
	kit.Heaptap(t, "verify", path)
	return kit.JSON[struct{ Rows []regionRow }](t, "regions", "--json", path)[0].Rows
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

func (n *notes) End(*spool.Stream)                           {}
func (n *notes) Doubtful(st *spool.Stream, _ int, err error) { n.err = err }
func (n *notes) Damaged(st *spool.Stream, err error)         { n.err = err }
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
