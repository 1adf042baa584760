package query

import (
	"math"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// funcs finds the function that allocated the block that a deallocation ends. Its collector does so for blocks that
// were allocated in an earlier block of events.
type funcs struct {
	live liveFuncs
	// For each block of events, by its first event: the functions of the older blocks that it frees, in order.
	far map[uint64][]event.Func
}

// collect is a collector of all events from the first one on.
func (f *funcs) collect(b recording.Stretch) (observer, func()) {
	near := newNearFuncs(b)
	var older []uint64
	observe := func(b *recording.Batch, _ []bool) {
		for i := range b.Events {
			e, ref := &b.Events[i], b.Refs[i]
			if e.Kind > event.Free {
				continue
			}
			if _, ok := near.observe(ref, e); !ok {
				older = append(older, ref)
			}
		}
	}
	return observe, func() {
		if f.far == nil {
			f.far = make(map[uint64][]event.Func)
		}
		list := make([]event.Func, len(older))
		for i, ref := range older {
			list[i] = f.live.take(ref)
		}
		f.far[b.First] = list
		for i, of := range near.of {
			if of != event.FuncUnknown {
				f.live.set(b.FirstAlloc+uint64(i), of)
			}
		}
	}
}

func (f *funcs) labeler(b recording.Stretch) labeler {
	near, far := newNearFuncs(b), f.far[b.First]
	return func(b *recording.Batch, memory []uint32) []uint32 {
		labels := labelsOf(b, memory)
		for i := range labels {
			e := &b.Events[i]
			if e.Kind > event.Free {
				continue
			}
			of, ok := near.observe(b.Refs[i], e)
			if !ok && len(far) > 0 {
				of, far = far[0], far[1:]
			}
			labels[i] = uint32(of)
		}
		return labels
	}
}

// joinedFuncs finds the functions in the same scan that counts: the deallocations of older blocks wait until the blocks
// of events before are done. That saves a scan, where the order of events does not matter.
type joinedFuncs struct{ live liveFuncs }

// olderFunc is the label of blocks that were allocated in an earlier block of events.
const olderFunc = math.MaxUint32

// waiting is a deallocation whose block's function is not known yet.
type waiting struct {
	event.Event
	ref    uint64
	counts bool
}

// waitingPool pools lists of waiting deallocations.
var waitingPool = sync.Pool{New: func() any { return new([]waiting) }}

// blockFuncs has the functions of one block of events.
type blockFuncs struct {
	near  *nearFuncs
	first uint64     // its first allocation
	list  *[]waiting // nil: functions are found in a scan of their own
}

// labeler is a labeler for which blocks are older if they are not of this block of events.
func (f *blockFuncs) labeler(b *recording.Batch, memory []uint32) []uint32 {
	labels := labelsOf(b, memory)
	for i := range labels {
		e := &b.Events[i]
		if e.Kind > event.Free {
			continue
		}
		of, ok := f.near.observe(b.Refs[i], e)
		if labels[i] = uint32(of); !ok {
			labels[i] = olderFunc
		}
	}
	return labels
}

// resolve passes on the deallocations that wait, once the blocks of events before are done.
func (j *joinedFuncs) resolve(f *blockFuncs, take func(e *event.Event, of event.Func)) {
	for i := range *f.list {
		w := &(*f.list)[i]
		if of := j.live.take(w.ref); w.counts {
			take(&w.Event, of)
		}
	}
	for i, of := range f.near.of {
		if of != event.FuncUnknown {
			j.live.set(f.first+uint64(i), of)
		}
	}
	*f.list = (*f.list)[:0]
	waitingPool.Put(f.list)
}

// nearFuncs keeps the functions of the blocks that one block of events allocates, until they are freed.
type nearFuncs struct {
	first uint64 // its first allocation
	of    []event.Func
}

func newNearFuncs(b recording.Stretch) *nearFuncs {
	return &nearFuncs{b.FirstAlloc, make([]event.Func, 0, min(b.Allocs, recording.BlockEvents))}
}

// observe takes an allocation or a deallocation and returns the function; false if the block is from an earlier block
// of events.
func (f *nearFuncs) observe(ref uint64, e *event.Event) (event.Func, bool) {
	if e.Kind == event.Alloc {
		f.of = append(f.of, e.Func)
		return e.Func, true
	}
	i := ref - f.first
	if ref < f.first || i >= uint64(len(f.of)) {
		return event.FuncUnknown, false
	}
	of := f.of[i]
	f.of[i] = event.FuncUnknown
	return of, true
}

// liveFuncs keeps the functions that allocated live blocks, by allocation number. Blocks that are live together mostly
// have numbers close to each other.
type liveFuncs struct {
	pages map[uint64]*funcPage
	last  *funcPage // the page used last
	at    uint64    // its number
}

type funcPage struct {
	live int
	of   [1 << 12]event.Func
}

func (f *liveFuncs) page(n uint64) *funcPage {
	if f.last == nil || f.at != n {
		f.last, f.at = f.pages[n], n
	}
	return f.last
}

// set stores the function of an allocation.
func (f *liveFuncs) set(ref uint64, of event.Func) {
	n := ref / (1 << 12)
	p := f.page(n)
	if p == nil {
		if f.pages == nil {
			f.pages = make(map[uint64]*funcPage)
		}
		p = &funcPage{}
		f.pages[n], f.last = p, p
	}
	if p.of[ref%(1<<12)] == event.FuncUnknown && of != event.FuncUnknown {
		p.live++
	}
	p.of[ref%(1<<12)] = of
}

// take returns the function that allocated a freed block, and forgets it; FuncUnknown if it is not known.
func (f *liveFuncs) take(ref uint64) event.Func {
	n := ref / (1 << 12)
	p := f.page(n)
	if p == nil {
		return event.FuncUnknown
	}
	of := p.of[ref%(1<<12)]
	if p.of[ref%(1<<12)] = event.FuncUnknown; of != event.FuncUnknown {
		if p.live--; p.live == 0 {
			delete(f.pages, n)
			f.last = nil
		}
	}
	return of
}
