// Package repair writes a new recording of what is whole in a damaged one.
package repair

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Result says what became of a recording that was repaired.
type Result struct {
	Events uint64 // that were kept
	// Lost is how many events are known to be missing. Those after the last whole block are known only if the ending is
	// whole.
	Lost       uint64
	Unmatched  uint64   // deallocations kept of blocks whose allocation is missing: they count as unmatched
	Unseen     uint64   // blocks that ended where events are missing, as the next block at their address shows
	Ended      bool     // the ending is whole: it is known how and when the process ended
	Damage     []string // what was found, in sentences
	Incomplete bool     // something was lost
}

// Options say how to repair.
type Options struct {
	Version string // of heaptap, for the note
	// Symbols finds the functions at the addresses of a recording whose ending, and so its symbols, are missing; nil:
	// they are left out.
	Symbols func(*recording.Reader) map[uint32][]event.Frame
}

// Write writes to path a new recording of what is whole in r, with an index, statistics counted anew, and a note in the
// ending that says what is missing.
//
// The new recording is consistent: a deallocation whose allocation is missing becomes an unmatched one, what a realloc
// did becomes an allocation where its first half is missing, and the events that are left decide which blocks are
// temporary. Blocks whose deallocation is missing stay live.
func Write(ctx context.Context, r *recording.Reader, path string, o Options) (*Result, error) {
	if err := r.NeedEvents(); err != nil {
		return nil, err
	}
	if cut, _ := r.DetailFrom(); cut > 0 {
		return nil, fmt.Errorf("%s: a recording whose events were folded cannot be written anew: the first %d are "+
			"known in sum only", r.Name(), cut)
	}
	w, err := recording.Create(path, r.Process(), recording.Options{Addresses: addresses(r)})
	if err != nil {
		return nil, err
	}
	m := &mender{w: w, threads: make(map[uint32]*mended), at: make(map[uint64]uint64), end: math.MaxInt64}
	if e, ended := r.Ending(); ended {
		m.end = e.End
	}
	if err := m.copy(ctx, r, o); err != nil {
		_ = w.Abort()
		if st, lost := os.Lstat(path); lost == nil && st.Mode().IsRegular() {
			_ = os.Remove(path) // half a file helps nobody
		}
		return nil, err
	}
	return &m.result, nil
}

// addresses reports whether a recording has the addresses of blocks.
func addresses(r *recording.Reader) bool {
	blocks := r.EventBlocks()
	for i := range blocks.Len() {
		if blocks.Head(i).HasAddresses() {
			return true
		}
	}
	return false
}

// mender rewrites events, and what belongs to them, so that they are consistent.
type mender struct {
	w       *recording.Writer
	result  Result
	kept    []keptRun
	next    uint64 // number of the next event, by the old numbers
	allocs  uint64 // kept
	bytes   uint64 // of all allocations that were kept
	tables  *mendedTables
	threads map[uint32]*mended
	live    liveBlocks
	// Number of the live block at an address, if addresses are known. Blocks in pools are left out: they are within
	// other blocks.
	at      map[uint64]uint64
	time    int64
	end     int64        // of the process, as far as it is known; MaxInt64: it is not
	latest  int64        // of all times that were kept
	child   bool         // the process was forked from one that was recorded
	marks   []event.Mark // still to be kept
	regions []event.RegionNote
	late    event.RegionNote // says that the event at hand happened earlier, if it did
	ranges  []event.NamedRange
}

// keptRun is allocations in a row that were kept: their old and new numbers.
type keptRun struct{ old, new, n uint64 }

// mended is what is known about a thread.
type mended struct {
	latest uint64   // new number of its latest allocation, plus 1
	halves int      // of reallocs whose old block has ended
	open   []string // names of the regions that it is in, from the outermost on
	notes  uint32   // how often it entered or left some
	noted  int64    // when it did so last
}

func (m *mender) copy(ctx context.Context, r *recording.Reader, o Options) error {
	m.tables = mendTables(m.w, r)
	m.marks, m.regions, m.ranges = r.Marks(), r.Regions(), r.Ranges()
	m.child = r.Process().Parent != 0
	first := r.Damage()
	var failed error
	err := r.Walk(ctx, 0, ^uint64(0), func(n, alloc uint64, e *event.Event) bool {
		failed = m.event(n, alloc, e)
		return failed == nil
	})
	var damage *recording.DamageError
	if failed != nil || err != nil && !errors.As(err, &damage) {
		return errors.Join(failed, err)
	}
	m.marksUpTo(event.NoCut)
	m.readings(r)
	m.tables.finish(m.w)
	frames := r.Symbols()
	if len(frames) == 0 && o.Symbols != nil {
		frames = o.Symbols(r)
	}
	if err := m.w.Symbols(frames); err != nil {
		return err
	}
	if err := errors.Join(m.w.Variables(r.Variables(), r.DataSections()), m.w.Residency(r.Residency()),
		m.w.Pairs(m.mismatches(r.Pairs())), m.w.Pools(r.Pools())); err != nil {
		return err
	}
	if counts := r.Counts(); counts != nil {
		if err := m.w.Counts(mendCounts(counts)); err != nil {
			return err
		}
	}
	m.result.Damage = first
	if damage != nil {
		m.result.Damage = r.Damage()
	}
	return m.w.Finish(m.ending(r, o))
}

// thread returns what is known about a thread.
func (m *mender) thread(i uint32) *mended {
	t := m.threads[i]
	if t == nil {
		t = &mended{}
		m.threads[i] = t
	}
	return t
}

// maxMendedBytes bounds the bytes of all allocations of a repaired recording, so that no sum overflows. No process
// allocates so much.
const maxMendedBytes = 1 << 62

// event writes an event of the old recording to the new one. n and alloc are its numbers in the old one.
func (m *mender) event(n, alloc uint64, e *event.Event) error {
	m.late = event.RegionNote{}
	m.marksUpTo(n)
	m.result.Lost += n - m.next
	m.next = n + 1
	if e.Kind >= event.KindCount || e.Func >= event.FuncCount {
		m.result.Lost++
		return nil
	}
	v := *e
	if v.Kind == event.Alloc {
		_, bytes := v.Weight()
		if bytes > maxMendedBytes-m.bytes {
			m.result.Lost++
			return nil
		}
		m.bytes += bytes
	}
	m.adapt(&v)
	t := m.thread(v.Thread)
	switch v.Kind {
	case event.Alloc:
		if err := m.alloc(&v, t, alloc); err != nil {
			return err
		}
	case event.Free:
		m.free(&v, t)
	case event.Unrecorded:
		if v.Flags&event.Realloc != 0 {
			t.halves++
		}
	case event.Inherited:
		if !m.child {
			v.Kind = event.Unmatched
		}
	}
	if v.Kind != event.Alloc || v.Flags&event.Realloc == 0 {
		v.Flags &^= event.InPlace
	}
	m.tables.used(&v)
	if m.late.Late == event.LateAlloc && v.Kind == event.Alloc || m.late.Late == event.LateFree &&
		v.Kind == event.Free {
		m.region(m.late)
	}
	m.result.Events++
	return m.w.Event(&v)
}

// adapt makes an event agree with the events before it and with the tables, and clears the flags that it cannot have.
func (m *mender) adapt(v *event.Event) {
	m.time = max(m.time, v.Time)
	v.Time = m.time
	v.Thread = m.tables.thread(v.Thread, v.Time)
	v.Stack, v.FreeStack = m.tables.stack(v.Stack), m.tables.stack(v.FreeStack)
	if v.Func != event.ReallocFunc && v.Func != event.Reallocarray && v.Func != event.PoolMove {
		v.Flags &^= event.Realloc
	}
	if v.Kind != event.Free {
		v.Ref = event.NoRef
		v.Flags &^= event.Temporary
	}
	if v.Kind > event.Free {
		v.Flags &^= event.Sampled
	}
}

// alloc keeps an allocation of thread t; old is its number in the old recording.
func (m *mender) alloc(v *event.Event, t *mended, old uint64) error {
	if v.Flags&event.Realloc != 0 {
		if t.halves == 0 {
			v.Flags &^= event.Realloc
		} else {
			t.halves--
		}
	}
	if err := m.unseen(v); err != nil {
		return err
	}
	m.keep(old)
	m.live.add(m.allocs, liveBlock{size: v.Size, usable: v.Usable, addr: v.Addr, born: v.Time, stack: v.Stack,
		thread: v.Thread, flags: v.Flags & (event.HasUsable | event.Sampled)})
	if v.Addr != 0 && !v.Func.InPool() {
		m.at[v.Addr] = m.allocs
	}
	t.latest = m.allocs + 1
	m.allocs++
	return nil
}

// free keeps a deallocation of thread t. If its allocation is missing, it becomes an unmatched one.
func (m *mender) free(v *event.Event, t *mended) {
	ref, ok := m.renumber(v.Ref)
	var b liveBlock
	if ok {
		b, ok = m.live.take(ref)
	}
	if !ok {
		m.result.Unmatched++
		*v = event.Event{Time: v.Time, Kind: event.Unmatched, Func: v.Func, Thread: v.Thread, FreeStack: v.FreeStack,
			Flags: v.Flags & event.Late, Ref: event.NoRef, Addr: v.Addr}
		return
	}
	v.Ref = ref
	b.describe(v)
	if v.Flags&event.Realloc != 0 {
		t.halves++
	} else if t.latest == ref+1 && v.Flags&event.Sampled == 0 && v.Func != event.FuncUnknown &&
		v.Func != event.PoolBacking {
		v.Flags |= event.Temporary
	}
	if at, ok := m.at[v.Addr]; ok && at == ref {
		delete(m.at, v.Addr)
	}
}

// there reports whether something may have happened at that time, and notes that it did.
func (m *mender) there(time int64) bool {
	if time > m.end {
		return false
	}
	m.latest = max(m.latest, time)
	return true
}

// marksUpTo keeps the marks, the notes of regions and the names of ranges before the event with old number n.
func (m *mender) marksUpTo(n uint64) {
	for len(m.marks) > 0 && (m.marks[0].Cut <= n || m.marks[0].Cut == event.NoCut) {
		mark := m.marks[0]
		m.marks = m.marks[1:]
		if mark.Cut != event.NoCut {
			mark.Cut = m.w.Handed()
		}
		mark.Thread = m.tables.thread(mark.Thread, math.MaxInt64)
		m.w.Mark(mark)
	}
	for len(m.regions) > 0 && m.regions[0].Event <= n {
		note := m.regions[0]
		m.regions = m.regions[1:]
		switch {
		case note.Late == event.NotLate:
			m.region(note)
		case note.Event == n:
			m.late = note // written with its event, if that can be kept
		}
	}
	for len(m.ranges) > 0 && m.ranges[0].Event <= n {
		named := m.ranges[0]
		m.ranges = m.ranges[1:]
		if named.Event = m.w.Handed(); named.Size > 0 && m.there(named.Time) {
			named.Thread = m.tables.thread(named.Thread, math.MaxInt64)
			m.w.Range(named)
		}
	}
}

// region keeps a note of a region before the next event, if it agrees with the notes before it.
func (m *mender) region(note event.RegionNote) {
	note.Thread = m.tables.thread(note.Thread, math.MaxInt64)
	t := m.thread(note.Thread)
	note.Event, note.Alloc = m.w.Handed(), m.w.Allocations()
	if note.Late != event.NotLate {
		if note.Back > 0 && note.Back <= t.notes && m.there(note.Time) {
			m.w.Region(note)
		}
		return
	}
	outer := len(t.open) - int(note.Leaves)
	if note.Leaves > 0 && (outer < 0 || t.open[outer] != note.Name) {
		return // the thread left a region that it had not entered
	}
	note.Time = max(note.Time, t.noted)
	if !m.there(note.Time) {
		return
	}
	t.noted = note.Time
	t.notes++
	if note.Leaves == 0 {
		t.open = append(t.open, note.Name)
	} else {
		t.open = t.open[:outer]
	}
	m.w.Region(note)
}

// readings keeps the samples and the stacks' sizes that are possible.
func (m *mender) readings(r *recording.Reader) {
	last := int64(0)
	for _, s := range r.Samples() {
		good := s.Time >= last
		for f, v := range recording.SampleFields(&s) {
			good = good && (f == 0 || *v >= -1)
		}
		if good && m.there(s.Time) {
			last = s.Time
			m.w.Sample(s)
		}
	}
	m.resident(r.Resident())
	r.PageReadings().All(func(p *event.PageReading) bool {
		if m.there(p.Time) {
			m.w.PageReading(*p)
		}
		return true
	})
	type part struct {
		thread  uint32
		measure event.StackMeasure
	}
	most := make(map[part]uint64)
	for _, u := range r.StackUse() {
		u.Thread, u.Stack = m.tables.thread(u.Thread, math.MaxInt64), m.tables.stack(u.Stack)
		if u.Measure != event.StackDeepest {
			u.Stack = 0
		}
		if p := (part{u.Thread, u.Measure}); u.Bytes > most[p] && m.there(u.Time) {
			most[p] = u.Bytes
			m.w.StackUse(u)
		}
	}
}

// resident keeps the readings of the resident set that are possible, in the order of their times.
func (m *mender) resident(list []event.ResidentPart) {
	last := int64(0)
	for _, p := range list {
		if p.Time < last || !m.there(p.Time) {
			continue
		}
		last = p.Time
		p.Stack = m.tables.stack(p.Stack)
		m.w.Resident([]event.ResidentPart{p})
	}
}

// mismatches returns the pairs that are possible.
func (m *mender) mismatches(list []event.Pair) (kept []event.Pair) {
	blocks := m.w.Handed()
	for _, p := range list {
		of := event.MismatchOf(p.Alloc, p.Free)
		if !allocates(p.Alloc) || !deallocates(p.Free) || p.Mismatch&of != of ||
			p.Mismatch&event.MismatchFunction != 0 && of != event.MismatchFunction ||
			p.Count > blocks || !m.there(p.Time) {
			continue
		}
		blocks -= p.Count
		p.Thread, p.Stack, p.FreeStack = m.tables.thread(p.Thread,
			math.MaxInt64), m.tables.stack(p.Stack), m.tables.stack(p.FreeStack)
		kept = append(kept, p)
	}
	return kept
}

// mendCounts removes the counts of what a function cannot do.
func mendCounts(c *event.Counts) *event.Counts {
	out := &event.Counts{Tick: c.Tick}
	for _, n := range c.Rows {
		if n.Timed == 0 || c.Tick == 0 {
			n.Timed, n.Time, n.Times = 0, 0, nil
		}
		if n.Frees && deallocates(n.Func) || !n.Frees && allocates(n.Func) {
			out.Rows = append(out.Rows, n)
		}
	}
	return out
}

// allocates and deallocates report what a function can do.
func allocates(f event.Func) bool {
	return f > event.FuncUnknown && f < event.FreeFunc || f.InPool()
}

func deallocates(f event.Func) bool {
	return f >= event.FreeFunc && f < event.Mmap || f == event.ReallocFunc || f == event.Reallocarray ||
		f >= event.PoolFree && f < event.FuncCount
}

// unseen ends the block that is live where v allocates: its deallocation is missing.
func (m *mender) unseen(v *event.Event) error {
	ref, ok := m.at[v.Addr]
	if !ok || v.Addr == 0 || v.Func.InPool() {
		return nil
	}
	delete(m.at, v.Addr)
	b, ok := m.live.take(ref)
	if !ok {
		return nil
	}
	m.result.Unseen++
	e := event.Event{Time: v.Time, Kind: event.Free, Func: event.FuncUnknown, Thread: v.Thread, Ref: ref}
	b.describe(&e)
	return m.w.Event(&e)
}

// keep gives the allocation with number old the next new number.
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

// ending returns the old ending, with notes about what is missing.
func (m *mender) ending(r *recording.Reader, o Options) recording.Ending {
	x := &m.result
	e, ended := r.Ending()
	x.Ended = ended
	if ended {
		if x.Lost = 0; r.PromisedEvents() > x.Events {
			x.Lost = r.PromisedEvents() - x.Events
		}
	} else {
		e.Status = "end not recorded"
	}
	x.Incomplete = !ended || x.Lost > 0 || r.LostContents()
	e.End = max(e.End, m.time, m.latest)
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
		note("What the program did later than %.7f s is missing: what is live then is not necessarily leaked.",
			float64(m.time)/1e9)
	}
	if x.Unmatched > 0 {
		note("Deallocations of blocks whose allocation is missing count as unmatched: %d.", x.Unmatched)
	}
	if x.Unseen > 0 {
		note("Blocks whose deallocation is missing, and whose address was given out again, count as unseen: %d.",
			x.Unseen)
	}
	for _, d := range x.Damage[:min(len(x.Damage), maxNotes)] {
		note("Missing: %s.", d)
	}
	return e
}

// maxNotes is how many damages the ending of a repaired recording lists.
const maxNotes = 20
