package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/tally"
)

// ThreadTables says what each thread did: tables by thread and by allocation function, and who freed what.
type ThreadTables struct {
	Threads, Calls *Table
	Matrix         *Matrix
	Freed          map[uint32]Bucket // by thread: what it freed, whoever had allocated it
}

// Threads answers three questions in one: Flat by thread, Flat by allocation function, and Cross. Blocks of events are
// decoded once for all three.
func Threads(ctx context.Context, s *Source, q *Query) (*ThreadTables, error) {
	threads, err := newTableOfBlocks(ctx, s, q, ByThread)
	if err != nil {
		return nil, err
	}
	calls, err := newTableOfBlocks(ctx, s, q, ByAllocation)
	if err != nil {
		return nil, err
	}
	matrix, err := newCrossings(ctx, s, q)
	if err != nil {
		return nil, err
	}
	from, to := calls.count.begin, calls.count.end
	if err := calls.prepare(from, to); err != nil {
		return nil, err
	}
	if err := calls.scan(from, to, threads.count.fields(), threads.count.collect, calls.count.collect,
		matrix.collect); err != nil {
		return nil, err
	}
	threads.Missing, matrix.a.Missing = calls.Missing, calls.Missing
	t := &ThreadTables{Matrix: matrix.matrix()}
	t.Freed = t.Matrix.Freed()
	if t.Threads, err = threads.table(); err == nil {
		t.Calls, err = calls.table()
	}
	return t, err
}

// tableOfBlocks is a table that is computed together with others.
type tableOfBlocks struct {
	*ask
	count *count
}

func newTableOfBlocks(ctx context.Context, s *Source, q *Query, by By) (*tableOfBlocks, error) {
	one := *q
	one.By = by
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.noStacks = true
	k, err := a.newCount(&cells{})
	return &tableOfBlocks{a, k}, err
}

func (t *tableOfBlocks) table() (*Table, error) {
	t.count.finish()
	t.sumUp(t.count.c)
	return t.ask.table(t.count.c)
}

// SumThreads answers with what Threads has of the whole run's statistics, at once: allocations, bytes, live and
// temporary blocks of each thread, and the matrix, in which threads from the 64th on are one if there are more; it is
// not known then what each thread has live. Calls has no rows. The error is ErrNotAtOnce if the question is about a
// part of the run, or if the recording has no such statistics: samples, and what older versions recorded.
func SumThreads(ctx context.Context, s *Source, q *Query) (*ThreadTables, error) {
	one := *q
	one.Metrics = []Metric{Allocations, Bytes, Live, Temporary}
	a, err := newAtOnce(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	if _, err := a.collect(); err != nil {
		return nil, err
	}
	t := &ThreadTables{Freed: make(map[uint32]Bucket)}
	kept := make([]Bucket, min(len(s.sum.Threads), tally.Together+1)) // by thread: freed of what it allocated
	t.Matrix = &Matrix{Answer: a.Answer, Cells: crossingsOf(s.sum, kept)}
	told := len(s.sum.Threads) <= tally.Together+1
	if !told {
		a.Metrics = []Metric{Allocations, Bytes, Temporary}
	}
	t.Threads, t.Calls = &Table{Answer: a.Answer}, &Table{Answer: a.Answer}
	for i := range s.sum.Threads {
		th := &s.sum.Threads[i]
		if th.Deallocations > 0 {
			t.Freed[uint32(i)] = Bucket{th.Deallocations, th.FreedBytes}
		}
		v := Values{Allocations: th.Allocations, Bytes: th.Bytes, Temporary: th.Temporary}
		if told {
			v.LiveBlocks, v.LiveBytes = th.Allocations-kept[i].Count, th.Bytes-kept[i].Bytes
		}
		row := Row{Group: Group{By: ByThread, Thread: uint32(i)}, Self: v, Total: v}
		if !a.isZero(&row) {
			t.Threads.Rows = append(t.Threads.Rows, row)
		}
	}
	slices.SortStableFunc(t.Threads.Rows, func(x, y Row) int {
		return cmp.Compare(y.Total.Allocations, x.Total.Allocations)
	})
	return t, nil
}

// crossingsOf returns the cells of a matrix from the statistics, and adds up what was freed of each thread's blocks.
func crossingsOf(sum *tally.Summary, freed []Bucket) []Crossing {
	threads := len(sum.Threads)
	of := func(thread uint32) uint32 {
		if thread == tally.Together && threads > tally.Together+1 {
			return OtherThreads
		}
		return thread
	}
	// The statistics have what other threads freed; the rest of what a thread freed was its own.
	own := make([]Bucket, len(freed))
	for i := range sum.Threads {
		th := &sum.Threads[i]
		own[min(i, tally.Together)].add(Bucket{th.Deallocations, th.FreedBytes})
	}
	var list []Crossing
	take := func(from, to uint32, b Bucket) {
		if int(from) < len(freed) {
			freed[from].add(b)
		}
		list = append(list, Crossing{Allocated: of(from), Freed: of(to), Blocks: b.Count, Bytes: b.Bytes})
	}
	for _, c := range sum.Spread.Crossings {
		b := Bucket(c.Bucket)
		switch {
		case c.To == tally.Nobody:
			take(c.From, 0, b)
			list[len(list)-1].Unseen = true
			continue
		case c.From == c.To: // by one of those that are one
			continue
		case int(c.To) < len(own):
			own[c.To].Count -= b.Count
			own[c.To].Bytes -= b.Bytes
		}
		take(c.From, c.To, b)
	}
	for i, b := range own {
		if b.Count > 0 {
			take(uint32(i), uint32(i), b)
		}
	}
	sortCrossings(list)
	return list
}
