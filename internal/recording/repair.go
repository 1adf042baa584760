package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Repaired tells what became of a recording that was repaired.
type Repaired struct {
	Events     uint64   // that were kept
	Lost       uint64   // that are known to be missing; events after the last whole block are only known if the ending is whole
	Unmatched  uint64   // deallocations kept of blocks whose allocation is missing: they count as unmatched
	Unseen     uint64   // blocks that ended where events are missing, as the next block at their address tells
	Ended      bool     // the ending is whole: it is known how and when the process ended
	Damage     []string // what was found, in sentences
	Incomplete bool     // something was lost
}

// RepairOptions say how to repair.
type RepairOptions struct {
	Version string // of heaptap, for the note
	// Symbols finds the functions at the addresses of a recording whose ending, and so its symbols, are missing; nil: they
	// are left out.
	Symbols func(*Reader) map[uint32][]event.Frame
}

// Repair writes to path a new recording of what is whole in r, with an index, statistics counted anew, and a note in the ending
// that says what is missing.
//
// The new recording is right in itself: a deallocation whose allocation is missing becomes an unmatched one, what a realloc
// did becomes an allocation where its first half is missing, and what is temporary is decided by the events that are left.
// Blocks whose deallocation is missing stay live.
func Repair(ctx context.Context, r *Reader, path string, o RepairOptions) (*Repaired, error) {
	if err := r.hasEvents(); err != nil {
		return nil, err
	}
	if cut, _ := r.DetailFrom(); cut > 0 {
		return nil, fmt.Errorf("%s: a recording whose events were folded cannot be written anew: the first %d are known in sum only", r.name, cut)
	}
	w, err := Create(path, r.process, Options{Addresses: r.addresses()})
	if err != nil {
		return nil, err
	}
	m := &mender{w: w, threads: make(map[uint32]*mended), at: make(map[uint64]event.Block)}
	if err := m.copy(ctx, r, o); err != nil {
		_ = w.Abort()
		if st, lost := os.Lstat(path); lost == nil && st.Mode().IsRegular() {
			_ = os.Remove(path) // half a file helps nobody
		}
		return nil, err
	}
	return &m.result, nil
}

func (r *Reader) addresses() bool {
	for i := range r.events {
		if r.events[i].head.flags&headAddresses != 0 {
			return true
		}
	}
	return false
}

// mender rewrites events.
type mender struct {
	w       *Writer
	result  Repaired
	kept    []keptRun
	next    uint64 // number of the next event, by the old numbers
	allocs  uint64 // kept
	threads map[uint32]*mended
	at      map[uint64]event.Block // live blocks by address, where addresses are known; none of pools, which lie in others
	time    int64
	marks   []event.Mark // still to be kept
	regions []event.RegionNote
	late    event.RegionNote // of the event that is being kept, if it was settled late
	ranges  []event.NamedRange
}

// keptRun is allocations in a row that were kept: their old and new numbers.
type keptRun struct{ old, new, n uint64 }

// mended is what is known of a thread.
type mended struct {
	latest uint64 // new number of its latest allocation, plus 1
	halves int    // of reallocs whose old block has ended
}

func (m *mender) copy(ctx context.Context, r *Reader, o RepairOptions) error {
	for i, t := range r.threads {
		m.w.Thread(uint32(i), t)
	}
	for _, mod := range r.modules {
		m.w.Module(mod)
	}
	r.pcs.All(func(i uint32, p event.PC) bool { m.w.PC(i, p); return true })
	r.nodes.All(func(i uint32, n event.Node) bool { m.w.Node(i, n); return true })
	for _, s := range r.samples {
		m.w.Sample(s)
	}
	m.marks, m.regions, m.ranges = r.marks, r.regions, r.ranges
	for _, u := range r.stackUse {
		m.w.StackUse(u)
	}
	first := r.Damage()
	var failed error
	err := r.Walk(ctx, 0, ^uint64(0), func(n, alloc uint64, e *event.Event) bool {
		failed = m.event(n, alloc, e)
		return failed == nil
	})
	var damage *DamageError
	if failed != nil || err != nil && !errors.As(err, &damage) {
		return errors.Join(failed, err)
	}
	m.marksUpTo(event.NoCut)
	frames := r.frames
	if len(frames) == 0 && o.Symbols != nil {
		frames = o.Symbols(r)
	}
	if err := m.w.Symbols(frames); err != nil {
		return err
	}
	if err := errors.Join(m.w.Variables(r.Variables(), r.DataSections()), m.w.Residency(r.Residency()),
		m.w.Pairs(r.pairs), m.w.Pools(r.pools)); err != nil {
		return err
	}
	if r.counts != nil {
		if err := m.w.Counts(r.counts); err != nil {
			return err
		}
	}
	m.result.Damage = first
	if damage != nil {
		m.result.Damage = r.Damage()
	}
	return m.w.Finish(m.ending(r, o))
}

// event writes an event with numbers of the old recording, if that is possible as what it can be there.
func (m *mender) event(n, alloc uint64, e *event.Event) error {
	m.late = event.RegionNote{}
	m.marksUpTo(n)
	m.result.Lost += n - m.next
	m.next = n + 1
	m.time = e.Time
	t := m.threads[e.Thread]
	if t == nil {
		t = &mended{}
		m.threads[e.Thread] = t
	}
	v := *e
	switch v.Kind {
	case event.Alloc:
		if v.Flags&event.Realloc != 0 {
			if t.halves == 0 {
				v.Flags &^= event.Realloc | event.InPlace
			} else {
				t.halves--
			}
		}
		if err := m.unseen(&v); err != nil {
			return err
		}
		m.keep(alloc)
		if v.Addr != 0 && !v.Func.InPool() {
			m.at[v.Addr] = event.Block{Addr: v.Addr, Size: v.Size, Stack: v.Stack, Thread: v.Thread, Ref: m.allocs, Born: v.Time}
		}
		t.latest = m.allocs + 1
		m.allocs++
	case event.Free:
		ref, ok := m.renumber(v.Ref)
		if !ok {
			m.result.Unmatched++
			v = event.Event{Time: v.Time, Kind: event.Unmatched, Func: v.Func, Thread: v.Thread, FreeStack: v.FreeStack,
				Flags: v.Flags & event.Late, Ref: event.NoRef, Addr: v.Addr}
			break
		}
		v.Ref = ref
		if v.Flags&event.Realloc != 0 {
			t.halves++
		} else if t.latest == ref+1 && v.Flags&event.Sampled == 0 && v.Func != event.FuncUnknown && v.Func != event.PoolBacking {
			v.Flags |= event.Temporary
		}
		if m.at[v.Addr].Ref == ref {
			delete(m.at, v.Addr)
		}
	}
	if m.late.Late == event.LateAlloc && v.Kind == event.Alloc || m.late.Late == event.LateFree && v.Kind == event.Free {
		m.region(m.late)
	}
	m.result.Events++
	return m.w.Event(&v)
}

// marksUpTo keeps the marks, the notes of regions and the names of ranges before the event with old number n.
func (m *mender) marksUpTo(n uint64) {
	for len(m.marks) > 0 && (m.marks[0].Cut <= n || m.marks[0].Cut == event.NoCut) {
		mark := m.marks[0]
		m.marks = m.marks[1:]
		if mark.Cut != event.NoCut {
			mark.Cut = m.w.Handed()
		}
		m.w.Mark(mark)
	}
	for len(m.regions) > 0 && m.regions[0].Event <= n {
		note := m.regions[0]
		m.regions = m.regions[1:]
		switch {
		case note.Late == event.NotLate:
			m.region(note)
		case note.Event == n:
			m.late = note // if its event can be kept, before that
		}
	}
	for len(m.ranges) > 0 && m.ranges[0].Event <= n {
		named := m.ranges[0]
		m.ranges = m.ranges[1:]
		named.Event = m.w.Handed()
		m.w.Range(named)
	}
}

// region keeps a note of a region in front of the next event.
func (m *mender) region(note event.RegionNote) {
	note.Event, note.Alloc = m.w.Handed(), m.w.Allocations()
	m.w.Region(note)
}

// unseen ends the block that is live where v allocates: its deallocation is missing.
func (m *mender) unseen(v *event.Event) error {
	b, ok := m.at[v.Addr]
	if !ok || v.Addr == 0 || v.Func.InPool() {
		return nil
	}
	m.result.Unseen++
	return m.w.Event(&event.Event{Time: v.Time, Kind: event.Free, Func: event.FuncUnknown, Thread: v.Thread, Stack: b.Stack, Size: b.Size,
		Addr: b.Addr, Ref: b.Ref, Born: b.Born, BornBy: b.Thread})
}

// keep gives the allocation with an old number the next new one.
func (m *mender) keep(old uint64) {
	if n := len(m.kept); n > 0 && m.kept[n-1].old+m.kept[n-1].n == old {
		m.kept[n-1].n++
		return
	}
	m.kept = append(m.kept, keptRun{old, m.allocs, 1})
}

// renumber returns the new number of an allocation, if it was kept.
func (m *mender) renumber(old uint64) (uint64, bool) {
	i := sort.Search(len(m.kept), func(i int) bool { return m.kept[i].old+m.kept[i].n > old })
	if i == len(m.kept) || m.kept[i].old > old {
		return 0, false
	}
	return m.kept[i].new + old - m.kept[i].old, true
}

// ending says what the old ending said, and what is missing.
func (m *mender) ending(r *Reader, o RepairOptions) Ending {
	x := &m.result
	e, ended := r.Ending()
	x.Ended = ended
	if ended {
		if x.Lost = 0; r.promised > x.Events {
			x.Lost = r.promised - x.Events
		}
	} else {
		e.Status = "end not recorded"
	}
	x.Incomplete = !ended || x.Lost > 0 || slices.ContainsFunc(r.damage, func(s string) bool {
		return !strings.HasPrefix(s, "the block of "+blockTally.String()) // they are counted anew
	})
	e.End = max(e.End, m.time)
	e.Tally = nil
	e.Health.LostEvents += x.Lost
	e.Health.Notes = slices.Clone(e.Health.Notes)
	note := func(format string, args ...any) {
		e.Health.Notes = append(e.Health.Notes, fmt.Sprintf(format, args...))
	}
	if !x.Incomplete {
		return e
	}
	note("Repaired by heaptap %s from a recording that was not whole.", o.Version)
	if !ended {
		note("What the program did later than %.7f s is missing: what is live then is not necessarily leaked.", float64(m.time)/1e9)
	}
	if x.Unmatched > 0 {
		note("Deallocations of blocks whose allocation is missing count as unmatched: %d.", x.Unmatched)
	}
	if x.Unseen > 0 {
		note("Blocks whose deallocation is missing, and whose address was given out again, count as unseen: %d.", x.Unseen)
	}
	for _, d := range x.Damage[:min(len(x.Damage), maxNotes)] {
		note("Missing: %s.", d)
	}
	return e
}

// maxNotes is how much damage the ending of a repaired recording tells one by one.
const maxNotes = 20
