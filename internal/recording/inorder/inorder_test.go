package inorder_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// TestDo: results come in order, no more than some tasks run ahead of them, and none runs any more in the end.
func TestDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	broken := errors.New("broken")
	for _, bad := range []int{-1, 0, 17, 99} {
		var running, most, now atomic.Int64
		next := 0
		err := inorder.Do(t.Context(), 100, func(i int, _ *atomic.Bool) (func(), error) {
			running.Add(1)
			defer running.Add(-1)
			if lead := int64(i) - now.Load(); lead > most.Load() {
				most.Store(lead)
			}
			runtime.Gosched()
			then := func() {
				if i != next {
					t.Errorf("%d comes, %d was expected", i, next)
				}
				next++
				now.Store(int64(next))
			}
			if i == bad {
				return then, broken
			}
			return then, nil
		})
		want := bad + 1
		if bad < 0 {
			want = 100
		}
		if (err != nil) != (bad >= 0) || next != want {
			t.Errorf("%d results, want %d: %v", next, want, err)
		}
		if running.Load() != 0 || most.Load() > 6 {
			t.Errorf("%d still run, up to %d were ahead", running.Load(), most.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := inorder.Do(ctx, 100, func(i int, _ *atomic.Bool) (func(), error) {
		return func() {
			if n++; n == 3 {
				cancel()
			}
		}, nil
	})
	if !errors.Is(err, context.Canceled) || n != 3 {
		t.Errorf("%d results after it was cancelled: %v", n, err)
	}
}
