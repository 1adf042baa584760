package query

import "context"

// ThreadTables says what each thread did: tables by thread and by allocation function, and who freed what.
type ThreadTables struct {
	Threads, Calls *Table
	Matrix         *Matrix
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
