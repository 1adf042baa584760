package query

import "context"

// watch looks now and then whether a context was cancelled, in loops whose turns take up to some microseconds.
type watch struct {
	ctx   context.Context
	turns uint
}

// err returns the context's error at one of 64 calls, and else nil.
func (w *watch) err() error {
	if w.turns++; w.turns%64 != 0 {
		return nil
	}
	return w.ctx.Err()
}

// gate is a mutex: whoever waits for it stops waiting when its context is cancelled.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) unlock() { <-g }
