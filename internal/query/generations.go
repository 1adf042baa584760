package query

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/glob"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/timeref"
)

// MostGenerations is the largest number of rows and of columns of Generations.
const MostGenerations = 200

// Triangle says which rows and columns Generations have.
type Triangle struct {
	Rows, Columns int // of each MostGenerations at most
	// Marks has a row for each span between marks, whatever Rows says, and columns where rows end, Columns at most. Of
	// too many marks, the last ones count: the first row has what was allocated before them.
	Marks bool
	Names []string // patterns with * and ?: only marks with one of these names count; nil: all
}

// Generations say what becomes of what a program allocates: the blocks of each row were allocated in one interval of
// the range, and each column says how much of them is live at a moment. The rows of a program whose memory is in
// balance fade; one that does not is a leak, or a cache.
type Generations struct {
	Answer
	Births   Bounds     // the ends of the rows' intervals: one more than there are rows
	Moments  Bounds     // of the columns
	Rows     [][]Amount // by column; nothing at moments up to the beginning of the row
	Born     []Amount   // what was allocated in each row
	Together []Amount   // of all rows, by column
	Marks    bool       // the rows are spans between marks
	Repeats  []Repeat   // then: what every repeat left behind, that with most bytes first
}

// Bounds are moments of a run.
type Bounds struct {
	Times []int64 // ns
	Cuts  []uint64
	Marks []string // as a time may be given, where a mark is; nil: marks were not asked for
}

// Amount is how much is live.
type Amount struct{ Bytes, Blocks uint64 }

func (k *Amount) add(o Amount) {
	k.Bytes += o.Bytes
	k.Blocks += o.Blocks
}

func (k *Amount) subtract(o Amount) {
	k.Bytes -= o.Bytes
	k.Blocks -= o.Blocks
}

// Generate answers with rows of about equal time, and columns at about equal distances, unless they are those of marks.
// In a large recording, the ends of rows and the moments of columns are ends of blocks of events, which need not be
// decoded then.
func Generate(ctx context.Context, s *Source, q *Query, t Triangle) (*Generations, error) {
	one := *q
	one.By, one.Metrics, one.Rough, one.At = ByStack, []Metric{Kept, KeptBlocks}, 0, nil
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.Reader.NeedEvents()
	}
	if err != nil {
		return nil, err
	}
	t.Rows, t.Columns = min(max(t.Rows, 1), MostGenerations), min(max(t.Columns, 1), MostGenerations)
	g := &generations{ask: a}
	if err := g.divide(t); err != nil {
		return nil, err
	}
	stacks, err := g.mayRepeat()
	if err != nil {
		return nil, err
	}
	places := make(map[uint32]int, len(stacks))
	for i, id := range stacks {
		places[id] = i
	}
	var cells []left
	a.Plan = FromSummaries
	switch {
	case !a.hasSums(a.At) || g.fewEvents():
		a.Plan = FromEvents
		if err = g.fromEvents(); err == nil && len(stacks) > 0 {
			cells, err = g.leftFromEvents(places)
		}
	case t.Marks:
		cells, err = g.spansFromSums(places)
	default:
		err = g.fromSums()
	}
	if err != nil {
		return nil, err
	}
	g.out.Repeats = g.repeats(stacks, cells)
	columns := len(g.out.Moments.Cuts)
	g.out.Together = make([]Amount, columns)
	for _, row := range g.out.Rows {
		for j := range row {
			g.out.Together[j].add(row[j])
		}
	}
	last := g.out.Together[columns-1]
	a.Total.KeptBytes, a.Total.KeptBlocks = last.Bytes, last.Blocks
	g.out.Answer = a.Answer
	return &g.out, nil
}

// fewEvents reports whether one look at every event costs less than sums at each bound: bounds in the middle of blocks
// of events decode these, several times each.
func (g *generations) fewEvents() bool {
	bounds := len(g.out.Births.Cuts) + len(g.out.Moments.Cuts)
	blocks := g.Reader.EventBlocks()
	return blocks.At(g.To)-blocks.At(g.From) <= bounds/2
}

// divide finds the ends of rows, and the moments of columns.
func (g *generations) divide(t Triangle) (err error) {
	if g.out.Marks = t.Marks; t.Marks {
		if g.out.Births, err = g.spans(t.Names); err != nil {
			return err
		}
		// If there are fewer columns than rows, they are at equal distances among these.
		rows := len(g.out.Births.Cuts) - 1
		for j := 1; j <= min(t.Columns, rows); j++ {
			i := j * rows / min(t.Columns, rows)
			g.out.Moments.Times = append(g.out.Moments.Times, g.out.Births.Times[i])
			g.out.Moments.Cuts = append(g.out.Moments.Cuts, g.out.Births.Cuts[i])
		}
		return nil
	}
	if g.out.Births, err = g.bounds(t.Rows); err != nil {
		return err
	}
	g.out.Moments, err = g.bounds(t.Columns)
	if err == nil {
		g.out.Moments.Times, g.out.Moments.Cuts = g.out.Moments.Times[1:], g.out.Moments.Cuts[1:]
	}
	return err
}

// spans divides the range at marks with one of these names; nil: at all. Changes of the recording mode are none: they
// are the recorder's.
func (g *generations) spans(patterns []string) (b Bounds, err error) {
	type bound struct {
		time int64
		cut  uint64
		mark string
	}
	begin, end := bound{g.Begin, g.From, ""}, bound{g.Begin + g.Span, g.To, ""}
	var list []bound
	marks := g.Reader.Marks()
	names := timeref.Names(marks)
	for i := range marks {
		m := &marks[i]
		if patterns != nil && !slices.ContainsFunc(patterns, func(p string) bool { return glob.Match(p, m.Name) }) {
			continue
		}
		cut, err := g.Reader.MarkCut(m)
		switch {
		case folded(err) || m.Source == event.FromMode:
		case err != nil:
			return b, err
		case cut == g.From:
			begin.mark = names[i]
		case cut == g.To:
			end.mark = names[i]
		case g.From < cut && cut < g.To:
			list = append(list, bound{m.Time, cut, names[i]})
		}
	}
	slices.SortStableFunc(list, func(a, b bound) int { return cmp.Compare(a.cut, b.cut) })
	list = slices.CompactFunc(list, func(a, b bound) bool { return a.cut == b.cut })
	list = list[max(0, len(list)-MostGenerations+1):]
	for _, x := range slices.Concat([]bound{begin}, list, []bound{end}) {
		b.Times, b.Cuts, b.Marks = append(b.Times, x.time), append(b.Cuts, x.cut), append(b.Marks, x.mark)
	}
	return b, nil
}

// bounds divides the range.
func (a *ask) bounds(n int) (b Bounds, err error) {
	ends := make([]timetravel.Bound, n+1)
	for i, t := range stepTimes(a.Begin, a.Span, n) {
		ends[i].Time = t
	}
	if a.To-a.From > uint64(n)*recording.BlockEvents {
		timetravel.Align(a.Reader, ends)
	}
	b = Bounds{Times: make([]int64, n+1), Cuts: make([]uint64, n+1)}
	for i := range ends {
		cut := ends[i].Cut
		switch {
		case i == 0:
			cut = a.From
		case i == n:
			cut = a.To
		case cut == 0:
			if cut, err = a.Reader.CutAt(ends[i].Time); err != nil && !folded(err) { // if folded, it is near the time
				return b, err
			}
		}
		b.Times[i], b.Cuts[i] = ends[i].Time, min(max(cut, a.From), a.To)
	}
	return b, nil
}

// generations are being counted.
type generations struct {
	*ask
	out Generations
}

// rows makes the rows, all 0.
func (g *generations) rows() [][]Amount {
	list := make([][]Amount, len(g.out.Births.Cuts)-1)
	for i := range list {
		list[i] = make([]Amount, len(g.out.Moments.Cuts))
	}
	return list
}

// fromEvents counts the events one by one.
func (g *generations) fromEvents() error {
	births, err := g.births()
	if err == nil {
		err = g.prepare(g.From, g.To)
	}
	if err != nil {
		return err
	}
	g.out.Rows, g.out.Born = g.rows(), make([]Amount, len(births)-1)
	err = g.scan(g.From, g.To, 0, func(b recording.Stretch) (observer, func()) {
		part := g.rows() // what happened up to each moment, after the one before
		born := make([]Amount, len(part))
		column := atMost(g.out.Moments.Cuts, b.First)
		observe := func(b *recording.Batch, counts []bool) {
			for i := range b.Events {
				n, e := b.First+uint64(i), &b.Events[i]
				for column < len(g.out.Moments.Cuts) && g.out.Moments.Cuts[column] <= n {
					column++
				}
				row := atMost(births, b.Refs[i]) - 1
				if !counts[i] || n < g.From || row < 0 || row >= len(part) || column == len(g.out.Moments.Cuts) {
					continue
				}
				k := &part[row][column]
				move(&k.Bytes, &k.Blocks, e)
				if e.Kind == event.Alloc {
					move(&born[row].Bytes, &born[row].Blocks, e)
				}
			}
		}
		return observe, func() {
			for i, row := range part {
				g.out.Born[i].add(born[i])
				for j := range row {
					g.out.Rows[i][j].add(row[j])
				}
			}
		}
	})
	for _, row := range g.out.Rows {
		for j := 1; j < len(row); j++ {
			row[j].add(row[j-1])
		}
	}
	return err
}

// births returns how many allocations there were before each end of a row.
func (g *generations) births() (list []uint64, err error) {
	list = make([]uint64, len(g.out.Births.Cuts))
	for i, cut := range g.out.Births.Cuts {
		if list[i], err = g.Reader.AllocsBefore(cut); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// atMost returns how many of the numbers, which rise, are not above n.
func atMost(list []uint64, n uint64) int {
	return sort.Search(len(list), func(i int) bool { return list[i] > n })
}

// fromSums counts from the recording's sums. What is live at a moment and was allocated before a row's end is what was
// live at that end, without what ended between the two.
func (g *generations) fromSums() error {
	cuts := slices.Concat(g.out.Births.Cuts, g.out.Moments.Cuts)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	live, err := g.liveAtCuts(cuts)
	if err != nil {
		return err
	}
	at := make([]int, len(g.out.Births.Cuts)) // places among cuts
	for i, cut := range g.out.Births.Cuts {
		at[i] = atMost(cuts, cut) - 1
	}
	ended, err := g.ended(cuts, at)
	if err != nil {
		return err
	}
	if g.out.Born, err = g.bornFromSums(); err != nil {
		return err
	}
	g.out.Rows = g.rows()
	for j, cut := range g.out.Moments.Cuts {
		moment := atMost(cuts, cut) - 1
		var before Amount // live at the moment and allocated before the row's beginning
		for i, end := range at {
			older := live[min(end, moment)]
			if end < moment {
				older.subtract(ended[i][moment])
				older.add(ended[i][end])
			}
			if i > 0 {
				row := older
				row.subtract(before)
				g.out.Rows[i-1][j] = row
			}
			before = older
		}
	}
	return nil
}

// bornFromSums returns what was allocated in each row.
func (g *generations) bornFromSums() ([]Amount, error) {
	cuts := g.out.Births.Cuts
	list := make([]Amount, len(cuts)-1)
	for i := range list {
		changes, err := timetravel.Changes(g.ctx, g.Reader, cuts[i], cuts[i+1])
		if err != nil {
			return nil, err
		}
		for _, c := range changes.List() {
			if g.stacks.keep(c.Stack) {
				list[i].add(Amount{c.Bytes, c.Allocs})
			}
		}
	}
	return list, nil
}

// ended returns what ended of blocks that were allocated before each end of a row, up to each cut. What ended before
// the end of the row is partly left out.
func (g *generations) ended(cuts []uint64, at []int) ([][]Amount, error) {
	n, width := len(at), len(cuts)
	sum := make([][]Amount, n)
	for i := range sum {
		sum[i] = make([]Amount, width)
	}
	x := timetravel.Ends{Born: g.out.Births.Cuts, Ended: cuts,
		Wanted: func(born, ended int) bool { return born < n && ended < width && ended > at[born] },
		Counter: func() (func(born, ended int, stack uint32, blocks, bytes uint64), func()) {
			part := make([]Amount, n*width)
			return func(born, ended int, stack uint32, blocks, bytes uint64) {
					if g.stacks.keep(stack) {
						part[born*width+ended].add(Amount{bytes, blocks})
					}
				}, func() {
					for i := range part {
						sum[i/width][i%width].add(part[i])
					}
				}
		},
		Progress: func(done, total int) {
			all := g.To - g.From
			g.progress(uint64(float64(all)*float64(done)/float64(total)), all)
		}}
	err := x.Count(g.ctx, g.Reader)
	for i := range sum {
		for j := range sum[i] {
			if i > 0 {
				sum[i][j].add(sum[i-1][j])
			}
		}
	}
	for i := range sum {
		for j := 1; j < width; j++ {
			sum[i][j].add(sum[i][j-1])
		}
	}
	return sum, err
}

// liveAtCuts returns what is live at cuts, which rise.
func (g *generations) liveAtCuts(cuts []uint64) ([]Amount, error) {
	list := make([]Amount, len(cuts))
	if g.stacks == nil {
		for i, cut := range cuts {
			bytes, blocks, err := timetravel.LevelAt(g.Reader, cut)
			if err != nil {
				return nil, err
			}
			list[i] = Amount{bytes, blocks}
		}
		return list, nil
	}
	begin, err := timetravel.LiveAt(g.ctx, g.Reader, cuts[0])
	for _, l := range begin {
		if g.stacks.keep(l.Stack) {
			list[0].add(Amount{l.Bytes, l.Blocks})
		}
	}
	for i := 1; i < len(cuts) && err == nil; i++ {
		var changes *recording.Changes
		changes, err = timetravel.Changes(g.ctx, g.Reader, cuts[i-1], cuts[i])
		list[i] = list[i-1]
		for _, c := range changes.List() {
			if g.stacks.keep(c.Stack) {
				list[i].add(Amount{uint64(c.Net()), c.Allocs - c.Frees})
			}
		}
	}
	return list, err
}
