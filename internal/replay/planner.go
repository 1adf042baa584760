package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Order says how far threads may leave the recorded order. A block is always freed after its allocation.
type Order string

// The orders.
const (
	Window Order = "window" // threads stay within WindowEvents of the recorded order
	Total  Order = "total"  // the whole order is kept: one thread at a time
	Free   Order = "free"   // only what blocks require
)

// Orders are all of them.
var Orders = []string{string(Window), string(Total), string(Free)}

// WindowEvents is how far apart two threads are at most, in events of the recorded order. While time is measured, it is
// TimedEvents: in a replay in which threads wait for one another after every 10,000 calls, no other thread is in the
// allocator, and caches are cold; a thread makes some 100,000 calls before the scheduler gives its processor to another
// one. It is less than that if the program allocates more than timedBytes meanwhile: memory would grow by as much.
const (
	WindowEvents = 10_000
	TimedEvents  = 1_000_000
	timedBytes   = 256 << 20
)

// Options say how a recording is planned.
type Options struct {
	Order    Order
	From, To uint64 // cuts; blocks that are live at From are allocated first, which is not measured
	Threads  int    // players beside the main thread's; 0: one for each recorded thread
	Changes  []Change
	Timed    bool // at the recorded speed
	// Pages has the plan say which pages of blocks were in memory, for TouchRecorded.
	Pages    bool
	Progress func(done, total uint64)
}

// Plan is a recording in the form that the player plays.
type Plan struct {
	Path    string
	Bytes   uint64 // of the file
	Calls   uint64 // that are measured
	Before  uint64 // allocations of blocks that were live at --from
	Threads int
	Slots   int
	// Epochs are parts of the recorded order with about equally many calls; see agent/player/plan.h.
	Epochs []Epoch
	Peak   uint64 // the most requested bytes that are live at once
	Last   uint64 // requested bytes that are live at the end

	Dropped Dropped
	Changed Changed // by Options.Changes
	Pages   Pages   // with Options.Pages

	recorded bool          // it says which pages are touched
	pause    time.Duration // --speed recorded: the longest time between two epochs
}

// Epoch is a part of the recorded order.
type Epoch struct {
	Time    int64  // of its last event, ns since the recording's start
	Live    uint64 // requested bytes that are live in it on average
	sum     uint64 // of the live bytes after each call, to get there
	calls   uint64
	bytes   uint64 // that are allocated in it
	threads uint32 // that play in it
}

// Dropped counts the events that are not replayed.
type Dropped struct {
	Threads    uint64 `json:"threads"`    // allocations for threads: the player's threads make them anew
	Mappings   uint64 `json:"mappings"`   // of memory that the program maps itself
	Pools      uint64 `json:"pools"`      // of the program's own pools
	Failed     uint64 `json:"failed"`     // that returned null
	Unmatched  uint64 `json:"unmatched"`  // deallocations of blocks that the recording does not know
	UnseenThen uint64 `json:"unseen"`     // deallocations of blocks that were not replayed either
	Impossible uint64 `json:"impossible"` // whose size or alignment no allocator takes
}

// Make writes the plan of a recording to a file.
func Make(ctx context.Context, r *recording.Reader, path string, o Options) (*Plan, error) {
	if err := replayable(r); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p := newPlanner(r, f, o)
	err = p.read(ctx)
	if err == nil {
		err = p.finish()
	}
	if e := f.Close(); err == nil && e != nil {
		err = fmt.Errorf("writing the plan: %w", e)
	}
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	p.plan.Path = path
	return &p.plan, nil
}

// replayable says why a recording cannot be replayed.
func replayable(r *recording.Reader) error {
	first, last := r.Cuts()
	switch err := r.NeedEvents(); {
	case err != nil:
		return err
	case r.Process().Sampling != event.Sampling{}:
		return fmt.Errorf("%s: allocations were sampled: a replay needs all of them (heaptap run --mode exact)",
			r.Name())
	case r.Live():
		return fmt.Errorf("%s: is still being recorded; it can be replayed when the run has ended", r.Name())
	case !r.Complete():
		return fmt.Errorf("%s: is incomplete, and a replay of a part would say nothing about the whole; "+
			"heaptap repair makes a consistent recording of what is left", r.Name())
	case r.Folded().Cut > 0:
		return fmt.Errorf("%s: events before %.3f s were folded to save disk, and a replay needs all of them", r.Name(),
			float64(r.Folded().Time)/1e9)
	case first == last:
		return fmt.Errorf("%s: has no events", r.Name())
	}
	return nil
}

type planner struct {
	r       *recording.Reader
	o       Options
	file    planFile
	plan    Plan
	pool    slotPool
	live    liveTable
	sizes   []uint64  // of the block in each slot
	players []*stream // of the recorded threads
	exits   []exit    // that are still to come
	starts  starts
	drop    []dropping // which call stacks' allocations are dropped
	moving  map[uint32][]uint64
	whatIf  *whatIf // nil: nothing is changed
	touched map[uint64][]pageRun

	n         uint64 // operations
	perEpoch  uint64
	at        *stream // that has the latest operation
	turns     uint32
	liveBytes uint64
	start     int64 // time of --from

	measured bool // what comes before was not
}

func newPlanner(r *recording.Reader, f *os.File, o Options) *planner {
	_, last := r.Cuts()
	p := &planner{r: r, o: o, file: planFile{f: f, size: 64}, drop: dropped(r), moving: make(map[uint32][]uint64),
		whatIf:   newWhatIf(o.Changes),
		perEpoch: min(max((min(o.To, last)-o.From)/400, 64), WindowEvents/2)}
	p.at = p.newStream(uint32(r.Process().PID))
	if o.Threads == 0 {
		p.exits = exitsOf(r.Threads())
	}
	if first, _ := r.Cuts(); o.From <= first {
		p.starts = startsOf(r)
	}
	return p
}

func (p *planner) newStream(tid uint32) *stream {
	s := &stream{number: uint32(len(p.file.streams)), tid: tid, epoch: noEpoch, time: math.MinInt64}
	p.file.streams = append(p.file.streams, s)
	return s
}

// player returns the stream of a recorded thread. The first one is the main thread's.
func (p *planner) player(thread uint32) *stream {
	for int(thread) >= len(p.players) {
		p.players = append(p.players, nil)
	}
	if s := p.players[thread]; s != nil {
		return s
	}
	var recorded event.Thread
	if list := p.r.Threads(); int(thread) < len(list) {
		recorded = list[thread]
	}
	tid := recorded.TID
	s := p.file.streams[0]
	switch others := len(p.file.streams) - 1; {
	case tid == s.tid:
	case p.o.Threads > 0 && others == p.o.Threads:
		s = p.file.streams[1+int(thread)%others]
	default:
		s = p.newStream(tid)
		s.thread = thread
		s.stays = p.o.Threads == 0 && recorded.End != 0
	}
	p.players[thread] = s
	return s
}

// mostThreads bounds the index of a thread, which a forged recording may choose.
const mostThreads = 1 << 22

// read turns the events into operations.
func (p *planner) read(ctx context.Context) error {
	first, last := p.r.Cuts()
	to := min(p.o.To, last)
	if p.whatIf != nil {
		if err := p.foresee(ctx, max(p.o.From, first), to); err != nil {
			return err
		}
	}
	if p.o.Pages {
		if err := p.findPages(ctx, first, to); err != nil {
			return err
		}
	}
	if p.o.From > first {
		if err := p.before(ctx); err != nil {
			return err
		}
	}
	p.measured = true
	return p.walk(ctx, max(p.o.From, first), to, func(n, ref uint64, e *event.Event) error {
		if p.o.Progress != nil && n%(1<<20) == 0 {
			p.o.Progress(n-p.o.From, to-p.o.From)
		}
		if err := p.exitBefore(e.Time); err != nil {
			return err
		}
		return p.event(e, ref)
	})
}

// walk calls each with events, as long as there is no error.
func (p *planner) walk(ctx context.Context, from, to uint64, each func(n, ref uint64, e *event.Event) error) error {
	var failed error
	seen := from
	err := p.r.Walk(ctx, from, to, func(n, ref uint64, e *event.Event) bool {
		if seen++; e.Thread >= mostThreads {
			failed = fmt.Errorf("%s: event %d is of thread %d, which does not exist", p.r.Name(), n, e.Thread)
		} else {
			failed = each(n, ref, e)
		}
		return failed == nil
	})
	if err == nil && failed == nil && seen < to {
		err = fmt.Errorf("%s: events are missing", p.r.Name())
	}
	return errors.Join(failed, err)
}

// before plans the allocation of what is live at --from, in the recorded order.
func (p *planner) before(ctx context.Context) error {
	type born struct {
		event.Event
		ref uint64
	}
	live := make(map[uint64]*born)
	first, _ := p.r.Cuts()
	if err := p.walk(ctx, first, p.o.From, func(_, ref uint64, e *event.Event) error {
		switch e.Kind {
		case event.Alloc:
			live[ref] = &born{*e, ref}
		case event.Free:
			delete(live, e.Ref)
		}
		p.start = e.Time
		return nil
	}); err != nil {
		return err
	}
	list := make([]*born, 0, len(live))
	for _, b := range live {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *born) int { return int(int64(a.ref - b.ref)) })
	for _, b := range list {
		b.Flags &^= event.Realloc
		if b.Func == event.ReallocFunc || b.Func == event.Reallocarray {
			b.Func = event.Malloc
		}
		b.Time = p.start
		if err := p.event(&b.Event, b.ref); err != nil {
			return err
		}
	}
	// The threads that have played so far wait until all of this is done.
	p.n = (p.n + p.perEpoch - 1) / p.perEpoch * p.perEpoch
	epoch := uint32(p.n / p.perEpoch)
	if p.o.Order == Total && p.turns > 0 {
		if err := p.file.add(p.at, opPass, 0); err != nil {
			return err
		}
	}
	p.at = p.file.streams[0]
	for _, s := range p.file.streams {
		if s.epoch != noEpoch {
			p.epochs(epoch)
			if err := p.file.add(s, opEpoch, 0, s.epoch, noEpoch); err != nil {
				return err
			}
		}
		s.epoch = noEpoch
		if s.number > 0 || epoch > 0 {
			if err := p.file.add(s, opBegin, 0, epoch); err != nil {
				return err
			}
		}
	}
	if p.o.Order == Total && p.turns > 0 { // as if the main thread had the latest operation
		p.turns++
		return p.file.add(p.at, opTurn, 0, p.turns-1)
	}
	return nil
}

// epochs makes sure that there are so many.
func (p *planner) epochs(n uint32) {
	for len(p.plan.Epochs) < int(n) {
		p.plan.Epochs = append(p.plan.Epochs, Epoch{Time: p.start, Live: p.liveBytes})
	}
}

// event plans what an event of a recording was.
func (p *planner) event(e *event.Event, ref uint64) error {
	d := &p.plan.Dropped
	switch e.Kind {
	case event.Alloc:
		var old uint64
		moves := false
		if e.Flags&event.Realloc != 0 {
			if list := p.moving[e.Thread]; len(list) > 0 {
				old, moves = list[len(list)-1], true
				p.moving[e.Thread] = list[:len(list)-1]
			}
		}
		switch {
		case e.Func.InPool() || e.Func >= event.PoolAlloc:
			d.Pools++
		case int(e.Stack) < len(p.drop) && p.drop[e.Stack] != kept:
			d.Threads++
			if p.drop[e.Stack] == startsThread && len(p.starts.by) < len(p.starts.ranks) {
				p.starts.by = append(p.starts.by, e.Thread)
			}
		case e.Size > 1<<47 || e.Align > 1<<40:
			d.Impossible++
		case p.whatIf.drops(ref):
			p.plan.Changed.Temporaries++
			return p.kept(e)
		case moves && p.stays(e, ref, old):
		default:
			return p.allocate(e, ref, old, moves)
		}
	case event.Free:
		switch {
		case e.Func >= event.PoolAlloc: // the block's memory goes on to be a pool's
			d.Pools++
		case e.Flags&event.Realloc != 0:
			p.moving[e.Thread] = append(p.moving[e.Thread], e.Ref)
		case p.whatIf.drops(e.Ref):
		default:
			return p.free(e.Thread, e.Time, e.Ref)
		}
	case event.Fail:
		d.Failed++
	case event.Map:
		d.Mappings++
	default:
		d.Unmatched++
	}
	return nil
}

// enter plans what a stream has to do before its next operation.
func (p *planner) enter(s *stream, time int64) error {
	if s.ops == 0 && s.number > 0 {
		if err := p.startThread(s, time); err != nil {
			return err
		}
	}
	if p.o.Order == Total && (p.at != s || p.turns == 0) {
		if p.turns > 0 {
			if err := p.file.add(p.at, opPass, 0); err != nil {
				return err
			}
		}
		p.turns++
		if err := p.file.add(s, opTurn, 0, p.turns-1); err != nil {
			return err
		}
	}
	epoch := uint32(p.n / p.perEpoch)
	p.epochs(epoch + 1)
	if s.epoch != epoch {
		if err := p.file.add(s, opEpoch, 0, s.epoch, epoch); err != nil {
			return err
		}
		s.epoch = epoch
		p.plan.Epochs[epoch].threads++
	}
	if at := time - p.start; p.o.Timed && p.measured && (s.time == math.MinInt64 || at-s.time >= 1e6) {
		if err := p.file.add(s, opTime, 0, uint32(at), uint32(at>>32)); err != nil {
			return err
		}
		s.time = at
	}
	s.ops++
	p.n++
	p.at = s
	return nil
}

// played counts a call.
func (p *planner) played(time int64) {
	p.plan.countCall(p.measured)
	p.level(time)
}

func (p *Plan) countCall(measured bool) {
	if measured {
		p.Calls++
	} else {
		p.Before++
	}
}

// level notes how much is live.
func (p *planner) level(time int64) {
	p.plan.Peak = max(p.plan.Peak, p.liveBytes)
	e := &p.plan.Epochs[len(p.plan.Epochs)-1]
	e.Time, e.sum, e.calls = time, e.sum+p.liveBytes, e.calls+1
	e.Live = e.sum / e.calls
}

// take takes a slot for a stream's next block.
func (p *planner) take(s *stream) (uint32, error) {
	slot, check, ok := p.pool.take(&s.slots, p.n)
	if !ok {
		return 0, fmt.Errorf("%s: more than %d blocks are live at once, which is too many for a replay", p.r.Name(),
			maxSlots)
	}
	if int(slot) == len(p.sizes) {
		p.sizes = append(p.sizes, 0)
	}
	if check {
		return slot, p.file.add(s, opWaitEmpty, slot)
	}
	return slot, nil
}

// release takes a block out of the table. filled is how often its slot was filled.
func (p *planner) release(ref uint64) (at place, filled uint32, known bool) {
	if at, known = p.live.take(ref); known {
		filled = uint32(p.pool.filled[at.slot])
		p.liveBytes -= p.sizes[at.slot]
	}
	return
}

// reuse lets the slot of a block that a stream has ended be used again.
func (p *planner) reuse(s *stream, at place) {
	p.pool.free(&p.file.streams[at.stream].slots, at.slot, at.stream != s.number, p.n)
}

func (p *planner) free(thread uint32, time int64, ref uint64) error {
	if p.outOfPool(ref) {
		return nil
	}
	at, filled, known := p.release(ref)
	if !known {
		p.plan.Dropped.UnseenThen++
		return nil
	}
	s := p.player(thread)
	err := p.enter(s, time)
	switch {
	case err != nil:
	case at.stream == s.number:
		err = p.file.add(s, opFree, at.slot)
	default:
		err = p.file.add(s, opFreeOfOther, at.slot, filled)
	}
	p.reuse(s, at)
	p.played(time)
	return err
}

// allocate plans an allocation, or a realloc of another block.
func (p *planner) allocate(e *event.Event, ref, old uint64, moves bool) error {
	if moves && p.outOfPool(old) {
		moves = false
	}
	if p.whatIf.applies(InPool, e.Stack) && e.Size <= poolLargest && e.Align <= poolAlign {
		if moves {
			if err := p.free(e.Thread, e.Time, old); err != nil {
				return err
			}
		}
		return p.inPool(e, ref)
	}
	s := p.player(e.Thread)
	if err := p.enter(s, e.Time); err != nil {
		return err
	}
	var from place
	var filled uint32
	if moves {
		if from, filled, moves = p.release(old); moves {
			p.reuse(s, from)
		}
	}
	slot, err := p.take(s)
	if err != nil {
		return err
	}
	p.live.put(ref, place{slot, s.number})
	total := p.whatIf.size(ref, e.Size)
	p.sizes[slot] = total
	p.liveBytes += total
	p.plan.Epochs[len(p.plan.Epochs)-1].bytes += total
	large := func(size uint64) error {
		if size>>32 == 0 {
			return nil
		}
		return p.file.add(s, opLarge, uint32(size>>32))
	}
	if err := p.touch(s, ref); err != nil {
		return err
	}
	align, function := alignment(e)
	switch {
	case moves:
		if err = large(total); err != nil {
			return err
		}
		if from.stream == s.number {
			err = p.file.add(s, opRealloc, from.slot, slot, uint32(total))
		} else {
			err = p.file.add(s, opReallocOfOther, from.slot, slot, uint32(total), filled)
		}
	case e.Func == event.Calloc:
		size, count := total, uint64(1)
		if e.Count > 0 && e.Count>>32 == 0 && total%e.Count == 0 {
			size, count = total/e.Count, e.Count
		}
		if err = large(size); err == nil {
			err = p.file.add(s, opCalloc, slot, uint32(size), uint32(count))
		}
	case align != 0:
		if err = large(total); err == nil {
			err = p.file.add(s, opAligned, slot, uint32(total), uint32(bits.TrailingZeros64(align))|function<<8)
		}
	default:
		if err = large(total); err == nil {
			err = p.file.add(s, opMalloc, slot, uint32(total))
		}
	}
	p.played(e.Time)
	return err
}

// alignment returns the alignment that an allocation asked for, and the function that asks for it; 0: none.
func alignment(e *event.Event) (align uint64, function uint32) {
	align = e.Align
	switch e.Func {
	case event.PosixMemalign:
		function = funcPosixMemalign
	case event.AlignedAlloc:
		function = funcAlignedAlloc
	case event.Valloc, event.Pvalloc:
		if align == 0 {
			align = 4096
		}
	}
	if bits.OnesCount64(align) != 1 {
		return 0, 0
	}
	return align, function
}

// finish ends the streams and completes the file.
func (p *planner) finish() error {
	for _, thread := range sortedKeys(p.moving) { // reallocs whose result was not recorded
		for _, ref := range p.moving[thread] {
			if err := p.free(thread, p.start, ref); err != nil {
				return err
			}
		}
	}
	if _, last := p.r.Cuts(); p.o.To >= last {
		if err := p.exitBefore(math.MaxInt64); err != nil {
			return err
		}
	}
	var counts []uint32
	for _, s := range p.file.streams {
		if err := p.file.leave(s); err != nil {
			return err
		}
	}
	for _, e := range p.plan.Epochs {
		counts = append(counts, e.threads)
	}
	if p.plan.Calls == 0 {
		return fmt.Errorf("%s: nothing was allocated or freed in the range", p.r.Name())
	}
	window, timed := uint32(0), uint32(0)
	if p.o.Order == Window {
		window = 1 // a thread enters an epoch when those before the last one have ended
		timed = timedWindow(p.plan.Epochs, p.perEpoch)
	}
	p.plan.Threads, p.plan.Slots = len(p.file.streams), len(p.pool.filled)
	p.plan.Last = p.liveBytes
	before := p.start
	for _, e := range p.plan.Epochs {
		if p.o.Timed {
			p.plan.pause = max(p.plan.pause, time.Duration(e.Time-before))
		}
		before = e.Time
	}
	err := p.file.finish(uint32(p.plan.Slots), window, timed, counts)
	p.plan.Bytes = p.file.size
	return err
}

// timedWindow is how many epochs a thread may be ahead of others while time is measured.
func timedWindow(epochs []Epoch, perEpoch uint64) uint32 {
	window := max(int(TimedEvents/perEpoch)-1, 1)
	for window > 1 && mostBytes(epochs, window+1) > timedBytes {
		window /= 2
	}
	return uint32(window)
}

// mostBytes is how much is allocated in n neighbouring epochs at most.
func mostBytes(epochs []Epoch, n int) (most uint64) {
	sum := uint64(0)
	for i := range epochs {
		sum += epochs[i].bytes
		if i >= n {
			sum -= epochs[i-n].bytes
		}
		most = max(most, sum)
	}
	return most
}

func sortedKeys[V any](m map[uint32]V) []uint32 {
	keys := make([]uint32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
