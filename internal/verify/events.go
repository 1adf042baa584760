package verify

import (
	"context"
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// threadState is the state of a thread.
type threadState struct {
	latest          uint64 // number of its latest allocation plus 1
	pendingReallocs int64  // reallocs whose old block has ended and whose new block is not yet allocated
}

// events goes through the events once. Order and pairs have separate state: they are checked concurrently.
type events struct {
	rec          *recording.Reader
	tree         *tree
	order, pairs *Check
	end          int64 // of the recording, if it has an ending
	ended        bool
	partial      bool // the recording does not begin with the first event: freed blocks may be older

	count   uint64
	last    int64
	allocs  uint64
	frees   uint64
	live    liveBlocks
	at      map[uint64]uint64 // number of the live block at an address, in recordings with addresses
	threads []threadState
	bytes   uint64 // live, as weighed
	blocks  uint64
	made    uint64 // allocations and deallocations, as weighed
	gone    uint64
	peak    tally.Peak

	summaries *summaries
	far       *farSums
	regions   *regions // nil: there are none
}

func newEvents(r *recording.Reader, t *tree, order, pairs *Check) *events {
	v := &events{rec: r, tree: t, order: order, pairs: pairs, at: make(map[uint64]uint64),
		threads: make([]threadState, len(r.Threads()))}
	ending, ended := r.Ending()
	v.end, v.ended = ending.End, ended
	v.count, _ = r.Cuts()
	if detail, _ := r.DetailFrom(); detail > 0 {
		v.count = detail
	}
	v.partial = v.count > 0
	return v
}

// read checks all events and recounts them.
func (v *events) read() (*tally.Summary, error) {
	counted := tally.New()
	first := v.count
	checks := []func(n uint64, e *event.Event){v.ordered, func(_ uint64, e *event.Event) { counted.Add(e) }}
	if !v.partial {
		checks = append(checks, v.paired, func(n uint64, e *event.Event) { v.summaries.add(e, n) },
			func(n uint64, e *event.Event) { v.far.add(e, n) })
		if v.regions != nil {
			checks = append(checks, v.regions.event)
		}
	}
	r := newRelay(checks...)
	err := v.rec.WalkBatches(context.Background(), 0, math.MaxUint64, func(b *recording.Batch) bool {
		r.take(v.count+1, b.Events)
		v.count += uint64(len(b.Events))
		return true
	})
	if r.end(); v.regions != nil {
		v.regions.finish(v.count)
	}
	v.order.What = fmt.Sprintf("%d events: times, threads, call stacks", v.count-first)
	v.pairs.What = fmt.Sprintf("%d allocations, %d deallocations and the blocks that they end", v.allocs, v.frees)
	v.tree.modules.What = fmt.Sprintf("%d modules: addresses, and that the code of %d call stacks was loaded",
		len(v.rec.Modules()), v.tree.used)
	return counted.Summary(), err
}

// ordered checks an event by itself. number is the cut after the event, here and below.
func (v *events) ordered(number uint64, e *event.Event) {
	if e.Time < v.last {
		v.order.problem("event %d at %d ns comes after one at %d ns", number, e.Time, v.last)
	}
	v.last = max(v.last, e.Time)
	if v.ended && e.Time > v.end {
		v.order.problem("event %d at %d ns comes after the end at %d ns", number, e.Time, v.end)
	}
	if e.Kind >= event.KindCount || e.Func >= event.FuncCount {
		v.order.problem("event %d has kind %d and function %d: one does not exist", number, e.Kind, e.Func)
	}
	if list := v.rec.Threads(); int(e.Thread) >= len(list) {
		v.order.problem("event %d belongs to thread %d, which does not exist", number, e.Thread)
	} else if start := list[e.Thread].Start; e.Time < start {
		v.order.problem("event %d at %d ns belongs to thread %d, which starts at %d ns", number, e.Time, e.Thread,
			start)
	}
	v.stack(number, e, e.Stack, e.Kind != event.Free) // a Free has the stack of its allocation
	v.stack(number, e, e.FreeStack, true)
}

// stack checks that a call stack exists, and, if it was taken at the event, that its code was loaded then.
func (v *events) stack(number uint64, e *event.Event, id uint32, taken bool) {
	if id == 0 {
		return
	}
	if _, ok := v.tree.nodes.Get(id); !ok {
		v.order.problem("event %d names call stack %d, which does not exist", number, id)
	}
	if taken && e.Flags&event.Late == 0 { // a late event has another's time
		v.tree.checkLoaded(id, e.Time, number)
	}
}

func (v *events) paired(number uint64, e *event.Event) {
	var none threadState
	t := &none
	if int(e.Thread) < len(v.threads) {
		t = &v.threads[e.Thread]
	}
	v.reallocs(number, e, t)
	if e.Kind != event.Free && e.Ref != event.NoRef {
		v.pairs.problem("event %d ends allocation %d, but is not the deallocation of a live block", number, e.Ref)
	}
	switch e.Kind {
	case event.Alloc:
		v.alloc(number, e)
		t.latest = v.allocs
	case event.Free:
		v.free(number, e, t)
	case event.Inherited:
		if v.rec.Process().Parent == 0 {
			v.pairs.problem("event %d ends a block of the parent process, but there is none", number)
		}
	}
}

// reallocs checks that the two events of each realloc belong together.
func (v *events) reallocs(number uint64, e *event.Event, t *threadState) {
	if e.Flags&event.InPlace != 0 && (e.Kind != event.Alloc || e.Flags&event.Realloc == 0) {
		v.pairs.problem("event %d is in place, but not a realloc", number)
	}
	if e.Flags&event.Realloc == 0 {
		return
	}
	if e.Func != event.ReallocFunc && e.Func != event.Reallocarray && e.Func != event.PoolMove {
		v.pairs.problem("event %d is part of a realloc, but its function is %s", number, e.Func)
	}
	switch e.Kind {
	case event.Free, event.Unrecorded:
		t.pendingReallocs++
	case event.Alloc:
		if t.pendingReallocs--; t.pendingReallocs < 0 {
			v.pairs.problem("event %d is a realloc's new block, but its thread has no realloc whose old block has "+
				"ended", number)
		}
	}
}

func (v *events) alloc(number uint64, e *event.Event) {
	v.live.add(v.allocs, live{size: e.Size, addr: e.Addr, born: e.Time, stack: e.Stack, by: e.Thread,
		sampled: e.Flags&event.Sampled != 0})
	if e.Addr != 0 && !e.Func.InPool() { // blocks in pools lie in other blocks
		if n, ok := v.at[e.Addr]; ok {
			v.pairs.problem("event %d allocates at %#x, where allocation %d is live", number, e.Addr, n)
		}
		v.at[e.Addr] = v.allocs
	}
	v.allocs++
	blocks, bytes := e.Weight()
	v.bytes += bytes
	v.blocks += blocks
	v.made += blocks
	if v.bytes > v.peak.Bytes {
		v.peak = tally.Peak{Bytes: v.bytes, Blocks: v.blocks, Time: e.Time, Event: number}
	}
}

func (v *events) free(number uint64, e *event.Event, t *threadState) {
	v.frees++
	temporary := t.latest == e.Ref+1 && e.Flags&(event.Realloc|event.Sampled) == 0 && e.Func != event.FuncUnknown &&
		e.Func != event.PoolBacking
	if temporary != (e.Flags&event.Temporary != 0) {
		v.pairs.problem("event %d ends allocation %d: temporary is %t, expected %t", number, e.Ref, !temporary,
			temporary)
	}
	b, ok := v.live.take(e.Ref)
	switch {
	case !ok && e.Ref >= v.allocs:
		v.pairs.problem("event %d ends allocation %d, which has not been made yet", number, e.Ref)
		return
	case !ok:
		v.pairs.problem("event %d ends allocation %d, which was freed before", number, e.Ref)
		return
	}
	is := live{size: e.Size, addr: e.Addr, born: e.Born, stack: e.Stack, by: e.BornBy,
		sampled: e.Flags&event.Sampled != 0}
	if is != b {
		v.pairs.problem("event %d ends allocation %d and describes it as %s; it is %s", number, e.Ref, is, b)
	}
	if b.addr != 0 && v.at[b.addr] == e.Ref {
		delete(v.at, b.addr)
	}
	blocks, bytes := e.Weight()
	v.bytes -= bytes
	v.blocks -= blocks
	v.gone += blocks
}
