package timetravel

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// Timeline says how much was live over time. It keeps what it has read of blocks of events: about levelRoom levels,
// which is dense enough to find the ends of steps without reading the blocks again, as long as a step is not much
// shorter than a block; and more of the blocks in which shorter steps ended lately. The zero value is ready for use. It
// is safe for concurrent use, with one Reader.
type Timeline struct {
	mu    sync.Mutex
	known map[uint64]*blockLevels // by the number of the block's first event
	dense []uint64                // those with dense levels, the oldest first
}

// blockLevels is what is known of a block of events beyond its head.
type blockLevels struct {
	packed               []byte // levels of a grid, and at the block's end, see pack; nil: not read yet
	allocs, bytes, frees uint64
	least                int64 // beyond the head's Live; known with the levels
	dense                bool  // there are up to mostLevels
}

// levelsOf keeps levels, of which the last one is at the block's end.
func levelsOf(list []recording.Level) blockLevels {
	last := list[len(list)-1]
	b := blockLevels{packed: pack(list), allocs: last.Allocs, bytes: last.Bytes, frees: last.Frees}
	for i := range list {
		b.least = min(b.least, list[i].Least)
	}
	return b
}

// list returns the levels.
func (b *blockLevels) list() []recording.Level {
	list, err := unpack(b.packed)
	if err != nil {
		panic(err) // pack made it
	}
	return list
}

// levelRoom is about how many levels are kept in all: 10 MB of them.
const levelRoom = 6 << 16

// Bounds on how many levels are kept of a block.
const (
	fewestLevels = 4
	mostLevels   = 1024
)

// denseBlocks is how many blocks have dense levels: 3 MB of them.
const denseBlocks = 96

// LevelStep is what happened in a step of time, at all call stacks together, and what was live at its end.
type LevelStep struct {
	Time         int64  // its end, ns
	Cut          uint64 // events before its end
	Live, Blocks uint64 // at its end
	Most, Least  uint64 // bytes that were live at any moment of the step, its beginning and its end included
	Allocs       uint64 // in the step, as are the others
	Bytes        uint64
	Frees        uint64
	// Exact says that Least and Bytes are exact. Else no fewer bytes than Bytes were allocated, and no more than Least
	// were live at some moment. The other numbers are always exact.
	Exact bool
}

// Precision is how exact the answer of a Timeline has to be.
type Precision struct {
	Slack int64 // how far the end of a step may move, ns, to where the level is known
	Least bool  // Least and Bytes are wanted
	// Blocks bounds how many blocks of events are decoded, beyond those at the ends of the range. If more would be
	// needed, none is: ends of steps move to where the level is known, however far, and steps may not be Exact. The
	// sums of some blocks are then read each time, until all are known. 0: no bound
	Blocks int
	// Progress is called while blocks are read, with the number of those done and of all; nil: not wanted.
	Progress func(done, total int)
}

// sumsPerBlock is how many blocks' sums are read in about the time in which one block is decoded.
const sumsPerBlock = 32

// Steps divides the events between two cuts at times, which rise and of which the first and the last are those of the
// cuts. It returns what was live at the first time, and then a step for each of the others. rough says that the bound
// on blocks was reached, or that events were folded: then ends of steps moved farther, or some steps are not Exact.
// With an error about damage come the steps, in which the events that could not be read are not divided.
func (l *Timeline) Steps(ctx context.Context, r *recording.Reader, from, to uint64, times []int64, p Precision) (
	steps []LevelStep, rough bool, err error) {
	if err := r.NeedEvents(); err != nil {
		return nil, false, err
	}
	w := &walk{timeline: l, r: r, blocks: r.EventBlocks(), times: times, p: p, from: from, to: to}
	w.sampled = r.Process().Sampling != (event.Sampling{})
	w.findUnits()
	w.find()
	if err := w.read(ctx); err != nil {
		return nil, false, err
	}
	w.ends()
	return w.steps(), w.rough, errors.Join(w.damage...)
}

// Prepare reads all blocks of events that it does not know yet, one after the other, so that questions have the other
// processors. It returns how many it has read. progress, which may be nil, gets how many of how many are done.
func (l *Timeline) Prepare(ctx context.Context, r *recording.Reader, progress func(done, total int)) (int, error) {
	if err := r.NeedEvents(); err != nil {
		return 0, err
	}
	blocks := r.EventBlocks()
	var list []int
	for i := range blocks.Len() {
		if !blocks.Folded(i) && l.of(blocks.Head(i).FirstEvent).packed == nil {
			list = append(list, i)
		}
	}
	for k, i := range list {
		if err := ctx.Err(); err != nil {
			return k, err
		}
		if l.of(blocks.Head(i).FirstEvent).packed == nil { // else a question has read it meanwhile
			if _, err := l.readBlock(blocks, i, nil, nil); err != nil {
				return k, err
			}
		}
		if progress != nil {
			progress(k+1, len(list))
		}
	}
	return len(list), nil
}

// of returns what is known of the block with that first event.
func (l *Timeline) of(first uint64) blockLevels {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.known[first]; b != nil {
		return *b
	}
	return blockLevels{}
}

// learn keeps what is known of a block. The oldest dense levels make room; then about so many are left of them.
func (l *Timeline) learn(first uint64, b blockLevels, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = make(map[uint64]*blockLevels)
	}
	if old := l.known[first]; old != nil && old.packed != nil && (old.dense || !b.dense) {
		return
	}
	l.known[first] = &b
	if !b.dense {
		return
	}
	if l.dense = append(l.dense, first); len(l.dense) > denseBlocks {
		oldest := l.known[l.dense[0]]
		l.known[l.dense[0]] = oldest.thin(left)
		l.dense = slices.Delete(l.dense, 0, 1)
	}
}

// thin returns the same with about n levels.
func (b *blockLevels) thin(n int) *blockLevels {
	list := b.list()
	each := max((len(list)+n-1)/n, 1)
	fewer := make([]recording.Level, 0, n+1)
	for i := 0; i < len(list); i += each {
		part := list[i:min(i+each, len(list))]
		v := part[len(part)-1]
		for _, o := range part {
			v.Most, v.Least = max(v.Most, o.Most), min(v.Least, o.Least)
		}
		fewer = append(fewer, v)
	}
	x := *b
	x.dense, x.packed = false, pack(fewer)
	return &x
}

// readBlock returns the levels of a block at times and cuts, which rise, and at a grid: equal numbers of events, and
// equal times. Those of the grid it keeps.
func (l *Timeline) readBlock(blocks *recording.EventBlocks, i int, times []int64, cuts []uint64) (
	[]recording.Level, error) {
	h := blocks.Head(i)
	left := keptLevels(blocks)
	dense, lines := len(times) > 0, uint64(left)
	if dense {
		lines = mostLevels
	}
	// More lines of the grid are at equal times, since times are what is asked for.
	rows, columns := (lines+3)/4, max(lines*3/4, 1)
	every := max((h.Events+rows-1)/rows, 1)
	begin := blocks.Begin(i)
	tick := max((blocks.End(i)-begin)/int64(columns), 1)
	var list, grid []recording.Level
	kept := recording.Level{Most: math.MinInt64, Least: math.MaxInt64} // of the levels since the latest of the grid
	nextNumber, nextTime := every, begin
	err := blocks.Levels(i, func(v *recording.Level) (number uint64, time int64) {
		if v.Number > 0 {
			list = append(list, *v)
			kept.Most, kept.Least = max(kept.Most, v.Most), min(kept.Least, v.Least)
			if v.Number >= nextNumber || int64(v.Next) > nextTime || v.Number == h.Events {
				x := *v
				x.Most, x.Least = kept.Most, kept.Least
				grid = append(grid, x)
				kept.Most, kept.Least = math.MinInt64, math.MaxInt64
			}
		}
		nextNumber = (v.Number/every + 1) * every
		if nextTime = begin + ((int64(v.Next)-begin)/tick+1)*tick; nextTime < begin { // a forged recording
			nextTime = math.MaxInt64
		}
		for len(times) > 0 && times[0] < int64(v.Next) {
			times = times[1:]
		}
		for len(cuts) > 0 && cuts[0] <= h.FirstEvent+v.Number {
			cuts = cuts[1:]
		}
		number, time = nextNumber, nextTime
		if len(times) > 0 {
			time = min(time, times[0])
		}
		if len(cuts) > 0 {
			number = min(number, cuts[0]-h.FirstEvent)
		}
		return number, time
	})
	if err != nil {
		return nil, err
	}
	known := levelsOf(grid)
	known.dense = dense
	l.learn(h.FirstEvent, known, left)
	return list, nil
}

// unit is a block of events, or several that were folded into one summary.
type unit struct {
	first, end   int // its blocks
	cut, endCut  uint64
	begin, last  int64 // times of its first and of its last event, ns
	before       int64 // time of the event before it, ns
	live, blocks int64 // before it
	after        Level // at its end; Top is the most that was live in it
	allocs       uint64
	known        blockLevels
	summed       bool              // known has what happened in it
	list         []recording.Level // see levels
	times        []int64           // ends of steps for which it has to be decoded
	cuts         []uint64          // ends of the range within it
}

// levels returns what levels there are within the unit.
func (u *unit) levels() []recording.Level {
	if u.list == nil && u.known.packed != nil {
		u.list = u.known.list()
	}
	return u.list
}

// walk is an answer of a Timeline in the making.
type walk struct {
	timeline *Timeline
	r        *recording.Reader
	blocks   *recording.EventBlocks
	times    []int64
	p        Precision
	from, to uint64
	sampled  bool
	units    []unit
	bounds   []Bound
	rough    bool
	few      bool // the bound on blocks was reached
	damage   []error
}

// findUnits finds the blocks of the range, and what is known of them.
func (w *walk) findUnits() {
	for i := w.blocks.At(w.from); i < w.blocks.Len() && w.blocks.Head(i).FirstEvent < w.to; {
		u := unit{first: i, end: i + 1}
		if first := w.blocks.Head(i).FirstEvent; w.blocks.Folded(i) {
			w.rough = true
			before, _ := w.r.Around(first)
			_, after := w.r.Around(first + 1)
			u.first, u.end = min(i, w.blocks.At(before)), max(u.end, w.blocks.At(after))
		} else {
			u.known = w.timeline.of(first)
			u.summed = u.known.packed != nil || u.known.bytes|u.known.allocs|u.known.frees != 0
		}
		h := w.blocks.Head(u.first)
		u.cut, u.begin, u.live, u.blocks = h.FirstEvent, w.blocks.Begin(u.first), h.Live, h.LiveCount
		for k := u.first; k < u.end; k++ {
			u.allocs += w.blocks.Head(k).Allocs
		}
		u.after = levelOf(w.r, u.first, u.end)
		u.endCut, u.last = u.after.Cut, u.after.Time
		u.before = w.times[0]
		if len(w.units) > 0 {
			u.before = w.units[len(w.units)-1].last
		}
		w.units = append(w.units, u)
		i = u.end
	}
}

// at returns the first unit that ends later than a time; len if there is none.
func (w *walk) at(t int64) int {
	return sort.Search(len(w.units), func(i int) bool { return w.units[i].last > t })
}

// nearest returns the known cut nearest to a time, within unit i or at its ends, and how far away it is.
func (w *walk) nearest(i int, t int64) (b Bound, away int64) {
	u := &w.units[i]
	away = math.MaxInt64
	try := func(time, next int64, cut uint64) {
		if time <= t && t < next {
			b, away = Bound{t, cut}, 0
		} else if d := max(time-t, t-time, 1); d < away { // at t itself, there may be more events after the cut
			b, away = Bound{time, cut}, d
		}
	}
	try(u.before, u.begin, u.cut)
	list := u.levels()
	k := sort.Search(len(list), func(k int) bool { return int64(list[k].Time) > t })
	for _, v := range list[max(k-1, 0):min(k+1, len(list))] {
		try(int64(v.Time), int64(v.Next), u.cut+v.Number)
	}
	try(u.last, u.last, u.endCut)
	return b, away
}

// find finds the blocks that have to be decoded.
func (w *walk) find() {
	for _, cut := range []uint64{w.from, w.to} {
		if i := w.unitOf(cut); i >= 0 {
			w.units[i].cuts = append(w.units[i].cuts, cut)
		}
	}
	for _, t := range w.times[1 : len(w.times)-1] {
		i := w.at(t)
		if i == len(w.units) {
			break
		}
		if _, away := w.nearest(i, t); away > w.p.Slack {
			w.units[i].times = append(w.units[i].times, t)
		}
	}
	need := 0
	for i := range w.units {
		if u := &w.units[i]; len(u.cuts) == 0 && w.needed(u) {
			need++
		}
	}
	if w.few = w.p.Blocks > 0 && need > w.p.Blocks && !w.sampled; w.few {
		w.rough = true
		for i := range w.units {
			if u := &w.units[i]; len(u.cuts) == 0 {
				u.times = nil
			}
		}
	}
}

// unitOf returns the unit that a cut divides; -1 if there is none.
func (w *walk) unitOf(cut uint64) int {
	i := sort.Search(len(w.units), func(i int) bool { return w.units[i].endCut > cut })
	if i == len(w.units) || w.units[i].cut >= cut {
		return -1
	}
	return i
}

// needed reports whether a unit has to be decoded.
func (w *walk) needed(u *unit) bool {
	switch {
	case w.blocks.Folded(u.first):
		return false
	case len(u.cuts) > 0 || len(u.times) > 0:
		return true
	case u.known.packed != nil:
		return false
	}
	return w.p.Least || !u.summed && (w.sampled || !w.blocks.HasChanges(u.first))
}

// read reads what is needed, several blocks at a time.
func (w *walk) read(ctx context.Context) error {
	var tasks []func() error
	sums := 0
	for i := range w.units {
		u := &w.units[i]
		switch folded := w.blocks.Folded(u.first); {
		case w.needed(u) && (!w.few || len(u.cuts) > 0):
			tasks = append(tasks, func() error {
				list, err := w.timeline.readBlock(w.blocks, u.first, u.times, u.cuts)
				if err == nil {
					u.list, u.known, u.summed = list, w.timeline.of(u.cut), true
				}
				return err
			})
		case !u.summed && (folded || w.blocks.HasChanges(u.first)) && (!w.few || sums < w.p.Blocks*sumsPerBlock):
			sums++
			tasks = append(tasks, func() error { return w.sum(ctx, u) })
		}
	}
	var mu sync.Mutex
	return inorder.Do(ctx, len(tasks), func(i int, _ *atomic.Bool) (func(), error) {
		if err := tasks[i](); err != nil && ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			w.damage = append(w.damage, err)
		}
		return func() {
			if w.p.Progress != nil {
				w.p.Progress(i+1, len(tasks))
			}
		}, nil
	})
}

// sum sums up the changes that a unit stores.
func (w *walk) sum(ctx context.Context, u *unit) error {
	part := part{block: u.first, whole: true}
	list, err := part.changes(w.blocks)
	if w.blocks.Folded(u.first) {
		var sum *recording.Changes
		sum, err = Changes(ctx, w.r, u.cut, u.endCut)
		list = sum.List()
	}
	if err != nil {
		return err
	}
	for i := range list {
		u.known.allocs += list[i].Allocs
		u.known.bytes += list[i].Bytes
		u.known.frees += list[i].Frees
	}
	u.summed = true
	if !w.blocks.Folded(u.first) {
		w.timeline.learn(u.cut, u.known, mostLevels)
	}
	return nil
}

// ends finds where the steps end.
func (w *walk) ends() {
	last := len(w.times) - 1
	w.bounds = make([]Bound, last+1)
	end := func(cut uint64, t int64) Bound {
		i := w.unitOf(cut)
		if i < 0 || slices.ContainsFunc(w.units[i].levels(), func(v recording.Level) bool {
			return w.units[i].cut+v.Number == cut
		}) {
			return Bound{t, cut}
		}
		b, _ := w.nearest(i, t) // it is folded or damaged
		return b
	}
	w.bounds[0], w.bounds[last] = end(w.from, w.times[0]), end(w.to, w.times[last])
	for k := 1; k < last; k++ {
		b, i := Bound{w.times[k], w.to}, w.at(w.times[k])
		if i < len(w.units) {
			b, _ = w.nearest(i, w.times[k])
		}
		if before := w.bounds[k-1]; b.Cut < before.Cut || b.Time < before.Time {
			b = before
		}
		w.bounds[k] = Bound{min(b.Time, w.bounds[last].Time), min(b.Cut, w.bounds[last].Cut)}
	}
}

// segment is what happened between two known cuts that follow each other.
type segment struct {
	cut                  uint64 // at its end
	live, blocks         int64  // likewise
	most, least          int64
	allocs, bytes, frees uint64
	exact                bool
}

// steps adds up what happened in each step.
func (w *walk) steps() []LevelStep {
	out := make([]LevelStep, len(w.bounds))
	k := 0
	var now LevelStep
	begin := func(live, blocks int64) {
		v := uint64(max(live, 0))
		now = LevelStep{Live: v, Blocks: uint64(max(blocks, 0)), Most: v, Least: v, Exact: true}
	}
	reach := func(cut uint64) {
		for ; k < len(w.bounds) && w.bounds[k].Cut <= cut; k++ {
			now.Time, now.Cut = w.bounds[k].Time, w.bounds[k].Cut
			out[k] = now
			begin(int64(now.Live), int64(now.Blocks))
		}
	}
	add := func(s segment) {
		if s.cut <= w.bounds[0].Cut {
			begin(s.live, s.blocks)
			return
		}
		reach(w.bounds[0].Cut)
		now.Live, now.Blocks = uint64(max(s.live, 0)), uint64(max(s.blocks, 0))
		now.Most = max(now.Most, uint64(max(s.most, 0)))
		now.Least = min(now.Least, uint64(max(s.least, 0)))
		now.Allocs += s.allocs
		now.Bytes += s.bytes
		now.Frees += s.frees
		now.Exact = now.Exact && s.exact
		reach(s.cut)
	}
	for i := range w.units {
		u := &w.units[i]
		if i == 0 || u.cut <= w.bounds[0].Cut {
			begin(u.live, u.blocks)
		}
		w.segments(u, k, add)
	}
	if len(w.units) == 0 {
		v := levelOf(w.r, max(w.blocks.At(w.from)-1, 0), max(w.blocks.At(w.from), 0))
		begin(int64(v.Bytes), int64(v.Blocks))
	}
	reach(math.MaxUint64)
	return out
}

// segments passes on the segments of a unit: one if no step from k on ends within it.
func (w *walk) segments(u *unit, k int, add func(segment)) {
	inside := sort.Search(len(w.bounds), func(i int) bool { return w.bounds[i].Cut > u.cut })
	divided := inside < len(w.bounds) && w.bounds[inside].Cut < u.endCut
	if !divided || u.levels() == nil {
		s := segment{cut: u.endCut, live: int64(u.after.Bytes), blocks: int64(u.after.Blocks), most: int64(u.after.Top),
			least: min(u.live, int64(u.after.Bytes)), allocs: u.known.allocs, bytes: u.known.bytes,
			frees: u.known.frees}
		if s.exact = u.known.packed != nil; s.exact {
			s.least = min(s.least, u.live+u.known.least)
		}
		if !u.summed { // the heads of blocks say how many there were
			s.allocs = u.allocs
			s.frees = uint64(int64(u.allocs) - (s.blocks - u.blocks))
		}
		add(s)
		return
	}
	var before recording.Level
	for i := range u.list {
		v := &u.list[i]
		add(segment{cut: u.cut + v.Number, live: u.live + v.Live, blocks: u.blocks + int64(v.Allocs-v.Frees),
			most: u.live + v.Most, least: u.live + v.Least, allocs: v.Allocs - before.Allocs,
			bytes: v.Bytes - before.Bytes, frees: v.Frees - before.Frees, exact: true})
		before = *v
	}
}
