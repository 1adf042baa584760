package sampler_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/record/sampler"
)

// TestLayoutStacks: which stacks are known while threads come and go, and their ids are given to others.
func TestLayoutStacks(t *testing.T) {
	var l sampler.Layout
	see := func(what string, want ...sampler.Stack) {
		t.Helper()
		if got := l.Stacks(); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	see("nothing")
	l.DropStack(7)
	first, second, again := sampler.Stack{100, 0, 0x1000}, sampler.Stack{101, 1, 0x2000}, sampler.Stack{101, 5, 0x3000}
	l.PutStack(second)
	l.PutStack(first)
	see("two threads", first, second)
	l.PutStack(again)
	see("an id that was given to another thread", first, again)
	l.DropStack(1) // the first with that id was noticed to have ended only now
	see("its end", first, again)
	l.DropStack(5)
	l.DropStack(9)
	see("the end of the other one", first)
}
