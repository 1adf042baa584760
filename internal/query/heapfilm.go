package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// HeapColor says by what cells are coloured.
type HeapColor uint8

// The colours.
const (
	ColorOccupancy HeapColor = iota // none: there are no tints
	ColorAge                        // none: it is the ages that count
	ColorStack                      // which group of call stacks has most bytes there
	ColorThread                     // which thread's blocks have most bytes there
	heapColorCount
)

var heapColorNames = [heapColorCount]string{"occupancy", "age", "stack", "thread"}

func (c HeapColor) String() string {
	if c < heapColorCount {
		return heapColorNames[c]
	}
	return fmt.Sprintf("HeapColor(%d)", uint8(c))
}

// ParseHeapColor returns the colour of that name.
func ParseHeapColor(name string) (HeapColor, bool) {
	i := slices.Index(heapColorNames[:], name)
	return HeapColor(max(i, 0)), i >= 0
}

// HeapColors returns the names of all colours.
func HeapColors() []string { return slices.Clone(heapColorNames[:]) }

const (
	// MostHeapMoments is the largest number of moments of a HeapFilm.
	MostHeapMoments = 300
	// MostHeapCells is the largest number of cells that have room in one.
	MostHeapCells = 1 << 17
	// HeapGroups is how many groups or threads have a tint of their own. The next tint is that of all others.
	HeapGroups = 7

	bornSteps = 1<<16 - 1 // into which the time of a film is divided for ages
	// AgeDecades is how many powers of ten the ages of a HeapFilm span.
	AgeDecades = 3
)

// HeapWish says which HeapFilm is wanted.
type HeapWish struct {
	Moments int // 1: only that of the query's At or, without one, the peak of its range
	Cells   int // room, at most MostHeapCells
	Color   HeapColor
	Ages    bool // are wanted, whatever the colour
	// Rough says that the only moment is wanted at once: of many events, only some are read. Then the Answer has an
	// Estimate, and the layout only the pages of what was read.
	Rough bool
	// Selected says that only blocks that the query selects are wanted, at one moment, in the cells of a film of the
	// range. When they were allocated does not matter.
	Selected bool
	// Group names the group to which a call stack belongs, if Color is ColorStack.
	Group func(stack uint32) string
}

// HeapFilm says at some moments of a run how full the pages were on which blocks ever lay, up to the last moment. All
// moments have the same layout, and all blocks of the process count, whatever the query selects, unless HeapWish says
// otherwise.
type HeapFilm struct {
	Answer
	*HeapLayout
	Color    HeapColor
	Groups   []string // names of the groups or threads with tints of their own
	Last     int64    // time of the last moment, ns: no age is higher
	Pictures []HeapPicture
}

// HeapPicture is one moment.
type HeapPicture struct {
	Time   int64
	Cut    uint64
	AtPeak bool // of the range
	Live   Amount
	// Fill says how full each cell is: 0 is empty, 255 full. Between them, it is rounded up.
	Fill []uint8
	// Age says how old the bytes of each cell that is not empty are on average: 0 is Last divided by 10^AgeDecades and
	// less, 255 all of Last; it rises with the logarithm. nil: not wanted.
	Age []uint8
	// Tint says whose most of these bytes are, if Color says so: it is an index into Groups, or their number. Else nil.
	Tint []uint8
	// Resident says which share of the pages of each cell is in memory, as Fill does: 0 also stands for pages at which
	// nobody looked. nil: that was not recorded.
	Resident []uint8
	// Absent says which share of them is not, likewise, but rounded down; at the others, nobody may have looked. nil:
	// that was not recorded.
	Absent []uint8
}

// LacksMemory reports whether some live bytes of a cell are certainly not in memory: the other pages have too little
// room for all of them.
func (p *HeapPicture) LacksMemory(cell int) bool {
	return p.Absent != nil && p.Fill[cell] > 0 && int(p.Fill[cell])+int(p.Absent[cell]) > 255
}

// Film answers how the heap looked at some moments. It reads the events twice, on all cores: first for the pages on
// which blocks lie, then for what is on them.
func Film(ctx context.Context, s *Source, q *Query, want HeapWish) (*HeapFilm, error) {
	one := Query{Range: q.Range, At: q.At}
	if want.Selected {
		one = *q
		one.Rough, want.Moments, want.Rough = 0, 1, false
	}
	one.By, one.Metrics, one.Progress = ByStack, []Metric{Kept, KeptBlocks}, nil
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.checkAddresses()
	}
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	f := &film{ask: a, want: want}
	f.out.Color = want.Color
	if err := f.moments(); err != nil {
		return nil, err
	}
	f.reaches = f.to
	if want.Selected {
		f.reaches = f.To
	}
	var some []int
	if want.Rough && len(f.wanted) == 1 {
		some = f.roughList()
	}
	passes, done := uint64(1), uint64(0)
	if some == nil && !f.arranged() {
		passes = 2
	}
	if q.Progress != nil {
		one.Progress = func(n, total uint64) { q.Progress(done*total+n, passes*total) }
	}
	switch {
	case some != nil:
		err = f.guess(some)
	default:
		if passes == 2 {
			err = f.arrange()
			done = 1
		}
		if err == nil {
			err = f.tints()
		}
		if err == nil {
			err = f.paint()
		}
	}
	if err != nil {
		return nil, err
	}
	if !want.Selected {
		if err := f.resident(); err != nil {
			return nil, err
		}
	}
	last := &f.out.Pictures[len(f.out.Pictures)-1]
	a.Total.KeptBytes, a.Total.KeptBlocks = last.Live.Bytes, last.Live.Blocks
	f.out.Answer = a.Answer
	return &f.out, nil
}

// film is being made.
type film struct {
	*ask
	want    HeapWish
	out     HeapFilm
	peak    uint64 // the cut at which most is live
	wanted  []moment
	to      uint64 // the cut of the last moment
	reaches uint64 // the cut until which the layout has pages
	tintOf  []uint8
	others  uint8 // the tint of what tintOf does not have
	bornBy  float64
	edges   []int64    // bytes by tint and cell
	full    []int64    // bytes of cells that blocks fill, as differences from the cell before
	ages    [2][]int64 // the same as edges and full, each byte times its birth; nil: not wanted
	current Amount
}

// moment is before the event cut or, if that is not known, after the last event at a time.
type moment struct {
	time int64
	cut  uint64
}

const noCut = math.MaxUint64

// moments chooses the moments: at equal distances in time, the last one at the end, and the nearest one at the peak.
func (f *film) moments() (err error) {
	if f.peak, err = f.peakCut(); err != nil {
		return err
	}
	peakTime, err := f.Reader.TimeAt(f.peak)
	if err != nil {
		return err
	}
	if f.want.Moments <= 1 {
		f.to = f.peak
		if f.q.At != nil {
			f.to = f.At
		}
		time, err := f.Reader.TimeAt(f.to)
		if err != nil {
			return err
		}
		f.wanted = []moment{{time, f.to}}
		f.out.Pictures = []HeapPicture{{Time: time, AtPeak: f.to == f.peak}}
	} else {
		n := min(f.want.Moments, MostHeapMoments)
		times := stepTimes(f.Begin, f.Span, n)[1:]
		best := 0
		for i, t := range times {
			f.wanted = append(f.wanted, moment{t, noCut})
			f.out.Pictures = append(f.out.Pictures, HeapPicture{Time: t})
			if abs(t-peakTime) < abs(times[best]-peakTime) {
				best = i
			}
		}
		f.to = f.To
		if f.From <= f.peak && f.peak <= f.To {
			f.wanted[best] = moment{peakTime, f.peak}
			f.out.Pictures[best] = HeapPicture{Time: peakTime, AtPeak: true}
		}
	}
	f.out.Last = max(f.out.Pictures[len(f.out.Pictures)-1].Time, 1)
	return nil
}

func abs(n int64) int64 { return max(n, -n) }

var errSpread = errors.New("blocks of this recording are spread over too many addresses for a picture")

// heapCells is a layout that is kept: each answer about a film, whatever its colours, has the same cells.
type heapCells struct {
	to     uint64 // the cut until which it has pages
	room   int
	layout *HeapLayout
}

// room is how many cells there may be.
func (f *film) room() int { return min(max(f.want.Cells, 256), MostHeapCells) }

// arranged takes the layout that is kept, if it is the wanted one.
func (f *film) arranged() bool {
	l := f.cells.Load()
	if l == nil || l.to != f.reaches || l.room != f.room() {
		return false
	}
	f.out.HeapLayout = l.layout.again()
	return true
}

// arrange finds the pages on which blocks lie, and lays them out.
func (f *film) arrange() error {
	var all reach
	ok := true
	err := f.scanAll(f.first, f.reaches, recording.Addresses|recording.Sizes,
		func(recording.Stretch) (observer, func()) {
			var part reach
			return func(b *recording.Batch, _ []bool) {
				for i := range b.Events {
					if e := &b.Events[i]; e.Kind == event.Alloc && b.First+uint64(i) < f.reaches {
						part.note(e.Addr, e.Size)
					}
				}
			}, func() { ok = ok && all.add(&part) }
		})
	switch {
	case err != nil:
		return err
	case !ok:
		return errSpread
	}
	f.lay(&all)
	f.cells.Store(&heapCells{f.reaches, f.room(), f.out.again()})
	return nil
}

// lay lays out the pages.
func (f *film) lay(all *reach) {
	f.out.HeapLayout = all.layout(f.room(), brkRange(f.Profile.Process.Exe, f.Profile.Modules))
}

// tints chooses the groups or threads that have a tint of their own.
func (f *film) tints() error {
	switch f.want.Color {
	case ColorStack:
		return f.tintStacks()
	case ColorThread:
		f.tintThreads()
	}
	return nil
}

// tintStacks gives the groups that have most live bytes, at the only moment or at the peak, their tints.
func (f *film) tintStacks() error {
	at := f.peak
	if len(f.out.Pictures) == 1 {
		at = f.to
	}
	list, err := timetravel.LiveAt(f.ctx, f.Reader, at)
	if err != nil {
		return err
	}
	names := make(map[uint32]string)
	group := func(stack uint32) string {
		name, ok := names[stack]
		if !ok {
			name = f.want.Group(stack)
			names[stack] = name
		}
		return name
	}
	bytes := make(map[string]uint64)
	for _, l := range list {
		if name := group(l.Stack); name != "" {
			bytes[name] += l.Bytes
		}
	}
	f.out.Groups = mostOf(bytes, cmp.Compare[string])
	f.others = uint8(len(f.out.Groups))
	tints := make(map[string]uint8)
	for i, name := range f.out.Groups {
		tints[name] = uint8(i)
	}
	for i := range f.sum.Stacks {
		if i%1024 == 0 && f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		id := f.sum.Stacks[i].ID
		if tint, ok := tints[group(id)]; ok && id < maxDense {
			f.tintOf = lengthened(f.tintOf, id, f.others)
			f.tintOf[id] = tint
		}
	}
	return nil
}

// tintThreads gives the threads that allocate most their tints.
func (f *film) tintThreads() {
	bytes := make(map[uint32]uint64)
	for i := range f.sum.Threads {
		if n := f.sum.Threads[i].Bytes; n > 0 {
			bytes[uint32(i)] = n
		}
	}
	threads := mostOf(bytes, cmp.Compare[uint32])
	f.others = uint8(len(threads))
	for i, thread := range threads {
		f.out.Groups = append(f.out.Groups, f.nameOf(thread))
		if thread < maxDense {
			f.tintOf = lengthened(f.tintOf, thread, f.others)
			f.tintOf[thread] = uint8(i)
		}
	}
}

// mostOf returns the keys with the largest values, at most HeapGroups.
func mostOf[K comparable](values map[K]uint64, compare func(a, b K) int) []K {
	list := make([]K, 0, len(values))
	for k := range values {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b K) int { return cmp.Or(cmp.Compare(values[b], values[a]), compare(a, b)) })
	return list[:min(len(list), HeapGroups)]
}

// lengthened returns the list with at least index+1 elements, new ones with a value.
func lengthened(list []uint8, index uint32, value uint8) []uint8 {
	for uint32(len(list)) <= index {
		list = append(list, value)
	}
	return list
}

// tint returns the tint of an event's block.
func (f *film) tint(e *event.Event) uint8 {
	key := e.Stack
	switch f.want.Color {
	case ColorOccupancy, ColorAge:
		return 0
	case ColorThread:
		key = e.Thread
		if e.Kind == event.Free {
			key = e.BornBy
		}
	}
	if uint64(key) < uint64(len(f.tintOf)) {
		return f.tintOf[key]
	}
	return f.others
}

// deposit is what an event adds to a cell, or takes from it.
type deposit struct {
	slot  uint32 // index into edges or, with fullFlag, full
	born  uint32 // in bornSteps of the film
	bytes int64
}

const fullFlag = 1 << 31

// pause is a moment between the deposits of a block of events.
type pause struct {
	picture  int
	cut      uint64
	deposits int // those before it
	live     Amount
}

// empty makes cells without bytes.
func (f *film) empty() {
	cells := len(f.out.Capacity)
	planes := int(f.others) + 1
	f.edges, f.full = make([]int64, planes*cells), make([]int64, planes*cells)
	if f.want.Ages || f.want.Color == ColorAge {
		f.ages = [2][]int64{make([]int64, planes*cells), make([]int64, planes*cells)}
	}
	f.bornBy = bornSteps / float64(f.out.Last)
}

// paint reads the events. Workers turn each block of events into deposits, which are made in order.
func (f *film) paint() error {
	f.empty()
	fields := recording.Times | recording.Addresses | recording.Sizes
	next := 0
	users := make([][]uint64, len(f.out.Bands)) // blocks by thread
	scan := f.scanAll
	if f.want.Selected {
		if err := f.prepare(f.first, f.to); err != nil {
			return err
		}
		scan = f.scan
	}
	err := scan(f.first, f.to, fields, func(b recording.Stretch) (observer, func()) {
		w := &filmWorker{film: f, users: make([][]uint64, len(f.out.Bands)),
			deposits: make([]deposit, 0, b.Events+b.Events/8)}
		return w.observe, func() {
			done := 0
			for i := range w.pauses {
				if p := &w.pauses[i]; p.picture == next {
					f.deposit(w.deposits[done:p.deposits])
					done = p.deposits
					f.snapshot(next, p.cut, f.current.plus(p.live))
					next++
				}
			}
			f.deposit(w.deposits[done:])
			f.current = f.current.plus(w.live)
			for band, list := range w.users {
				for len(users[band]) < len(list) {
					users[band] = append(users[band], 0)
				}
				for thread, n := range list {
					users[band][thread] += n
				}
			}
		}
	})
	for ; next < len(f.out.Pictures); next++ {
		f.snapshot(next, f.to, f.current)
	}
	for band := range users {
		f.out.Bands[band].Threads = f.shares(users[band])
	}
	return err
}

// plus adds amounts, of which one may be what an event took, modulo 2^64.
func (a Amount) plus(b Amount) Amount { return Amount{a.Bytes + b.Bytes, a.Blocks + b.Blocks} }

// shares returns the threads with the largest numbers.
func (f *film) shares(numbers []uint64) (list []ThreadShare) {
	total := uint64(0)
	for _, n := range numbers {
		total += n
	}
	for thread, n := range numbers {
		if n > 0 {
			list = append(list, ThreadShare{uint32(thread), "", float64(n) / float64(total)})
		}
	}
	slices.SortStableFunc(list, func(a, b ThreadShare) int { return cmp.Compare(b.Share, a.Share) })
	list = list[:min(len(list), HeapGroups)]
	for i := range list {
		list[i].Name = f.nameOf(list[i].Thread)
	}
	return list
}

// nameOf returns a thread's name and its id, because several threads may have one name.
func (f *film) nameOf(thread uint32) string {
	list := f.Reader.Threads()
	if int64(thread) >= int64(len(list)) {
		return fmt.Sprintf("thread %d", thread)
	}
	if t := &list[thread]; t.Name != "" {
		return fmt.Sprintf("%s (%d)", t.Name, t.TID)
	}
	return fmt.Sprintf("thread %d", list[thread].TID)
}

// filmWorker turns a block of events into deposits.
type filmWorker struct {
	*film
	next     int // picture
	deposits []deposit
	pauses   []pause
	live     Amount // what was added, modulo 2^64
	users    [][]uint64
	run      *HeapRun
}

// mostUsers is of how many threads it is counted where they allocate.
const mostUsers = 1024

func (w *filmWorker) observe(b *recording.Batch, counts []bool) {
	for i := range b.Events {
		n, e := b.First+uint64(i), &b.Events[i]
		if n >= w.to {
			return
		}
		for w.next < len(w.wanted) {
			m := &w.wanted[w.next]
			if n < m.cut && (m.cut != noCut || e.Time <= m.time) {
				break
			}
			w.pauses = append(w.pauses, pause{w.next, n, len(w.deposits), w.live})
			w.next++
		}
		if w.want.Selected && !counts[i] {
			continue
		}
		switch e.Kind {
		case event.Alloc:
			w.live = w.live.plus(Amount{e.Size, 1})
			w.block(e, e.Time, 1)
			if w.run != nil && e.Size < ownMapping && e.Thread < mostUsers {
				w.used(w.run.band, int(e.Thread))
			}
		case event.Free:
			w.live = w.live.plus(Amount{-e.Size, ^uint64(0)})
			w.block(e, e.Born, -1)
		}
	}
}

func (w *filmWorker) used(band, thread int) {
	list := w.users[band]
	for len(list) <= thread {
		list = append(list, 0)
	}
	list[thread]++
	w.users[band] = list
}

// block deposits the bytes of a block, or takes them.
func (w *filmWorker) block(e *event.Event, born int64, sign int64) {
	size := max(e.Size, 1)
	if !fits(e.Addr, size) {
		return
	}
	plane := uint32(w.tint(e)) * uint32(len(w.out.Capacity))
	step := uint32(float64(min(born, w.out.Last)) * w.bornBy)
	put := func(slot uint64, bytes uint64) {
		w.deposits = append(w.deposits, deposit{plane + uint32(slot), step, sign * int64(bytes)})
	}
	for from, to := e.Addr, e.Addr+size; from < to; {
		page := from / PageSize
		w.run = w.out.run(page, w.run)
		if w.run == nil {
			return // only in recordings that contradict themselves
		}
		cell := w.run.cell(page)
		end := min(w.run.next(page)*PageSize, to)
		put(cell, end-from)
		from = end
		// What is left of a large block fills cells until the last one of the run.
		stop := min(to/PageSize, w.run.To)
		if page = from / PageSize; page >= stop {
			continue
		}
		cell, last := w.run.cell(page), w.run.cell(stop)
		if stop == w.run.To {
			last = w.run.cell(stop - 1)
		}
		if cell < last {
			bytes := uint64(PageSize) << w.run.shift
			put(cell|fullFlag, bytes)
			put(last|fullFlag, -bytes)
			from += (last - cell) * bytes
		}
	}
}

// deposit makes deposits.
func (f *film) deposit(list []deposit) {
	for i := range list {
		d := &list[i]
		plane, kind := f.edges, 0
		slot := d.slot
		if slot&fullFlag != 0 {
			plane, kind, slot = f.full, 1, slot&^fullFlag
		}
		plane[slot] += d.bytes
		if f.ages[0] != nil {
			f.ages[kind][slot] += d.bytes * int64(d.born)
		}
	}
}

// snapshot takes a picture.
func (f *film) snapshot(number int, cut uint64, live Amount) {
	p := &f.out.Pictures[number]
	p.Cut, p.Live = cut, live
	cells := len(f.out.Capacity)
	p.Fill = make([]uint8, cells)
	if f.ages[0] != nil {
		p.Age = make([]uint8, cells)
	}
	if f.want.Color == ColorStack || f.want.Color == ColorThread {
		p.Tint = make([]uint8, cells)
	}
	planes := len(f.edges) / max(cells, 1)
	full := make([]int64, planes)
	var bornFull int64
	now := float64(p.Time) * f.bornBy
	for cell := range cells {
		var sum, most, born int64
		tint := 0
		for k := range planes {
			full[k] += f.full[k*cells+cell]
			n := f.edges[k*cells+cell] + full[k]
			if sum += max(n, 0); n > most {
				most, tint = n, k
			}
			if p.Age != nil {
				born += f.ages[0][k*cells+cell]
				bornFull += f.ages[1][k*cells+cell]
			}
		}
		if sum <= 0 {
			continue
		}
		p.Fill[cell] = uint8(min(math.Ceil(255*float64(sum)/float64(max(f.out.Capacity[cell], 1))), 255))
		if p.Tint != nil {
			p.Tint[cell] = uint8(tint)
		}
		if p.Age != nil {
			p.Age[cell] = ageOf((now - float64(born+bornFull)/float64(sum)) / bornSteps)
		}
	}
}

// ageOf is the Age of a share of the film's time.
func ageOf(share float64) uint8 {
	if share <= 0 {
		return 0
	}
	return uint8(255 * min(max(1+math.Log10(share)/AgeDecades, 0), 1))
}
