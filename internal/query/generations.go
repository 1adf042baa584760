package query

import (
	"context"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// MostGenerations is the largest number of rows and of columns of Generations.
const MostGenerations = 200

// Generations say what becomes of what a program allocates: the blocks of each row were allocated in one interval of
// the range, and each column says how much of them is live at a moment. The rows of a program whose memory is in
// balance fade; one that does not is a leak, or a cache.
type Generations struct {
	Answer
	Births   Bounds     // the ends of the rows' intervals: one more than there are rows
	Moments  Bounds     // of the columns
	Rows     [][]Amount // by column; nothing at moments up to the beginning of the row
	Together []Amount   // of all rows, by column
}

// Bounds are moments of a run.
type Bounds struct {
	Times []int64 // ns
	Cuts  []uint64
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

// Generate answers with rows of about equal time, and columns at about equal distances. In a large recording, the ends
// of rows and the moments of columns are ends of blocks of events, which need not be decoded then.
func Generate(ctx context.Context, s *Source, q *Query, rows, columns int) (*Generations, error) {
	one := *q
	one.By, one.Metrics, one.Rough, one.At = ByStack, []Metric{Kept, KeptBlocks}, 0, nil
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.Reader.NeedEvents()
	}
	if err != nil {
		return nil, err
	}
	rows, columns = min(max(rows, 1), MostGenerations), min(max(columns, 1), MostGenerations)
	g := &generations{ask: a}
	if g.out.Births, err = a.bounds(rows); err != nil {
		return nil, err
	}
	if g.out.Moments, err = a.bounds(columns); err != nil {
		return nil, err
	}
	g.out.Moments.Times, g.out.Moments.Cuts = g.out.Moments.Times[1:], g.out.Moments.Cuts[1:]
	if a.perBlock || !a.farSums() {
		a.Plan = FromEvents
		err = g.fromEvents()
	} else {
		a.Plan = FromSummaries
		err = g.fromSums()
	}
	if err != nil {
		return nil, err
	}
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

// bounds divides the range.
func (a *ask) bounds(n int) (b Bounds, err error) {
	ends := make([]timetravel.Bound, n+1)
	for i, t := range stepTimes(a.Begin, a.Span, n) {
		ends[i].Time = t
	}
	if a.To-a.From > uint64(n)*recording.BlockEvents {
		timetravel.Align(a.Reader, ends)
	}
	b = Bounds{make([]int64, n+1), make([]uint64, n+1)}
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
	births := make([]uint64, len(g.out.Births.Cuts)) // allocations before each
	for i, cut := range g.out.Births.Cuts {
		var err error
		if births[i], err = g.Reader.AllocsBefore(cut); err != nil {
			return err
		}
	}
	if err := g.prepare(g.From, g.To); err != nil {
		return err
	}
	g.out.Rows = g.rows()
	err := g.scan(g.From, g.To, 0, func(b recording.Stretch) (observer, func()) {
		part := g.rows() // what happened up to each moment, after the one before
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
			}
		}
		return observe, func() {
			for i, row := range part {
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
