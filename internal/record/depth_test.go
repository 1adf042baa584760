package record

import (
	"reflect"
	"testing"
)

// TestStackLists: what samplers see of the threads' stacks while threads come and go, and their ids are given to others.
func TestStackLists(t *testing.T) {
	var l stackLists
	see := func(what string, want ...ownStack) {
		t.Helper()
		if got := l.of(3); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	see("nothing")
	l.drop(3, 7)
	first, second, again := ownStack{100, 0, 0x1000}, ownStack{101, 1, 0x2000}, ownStack{101, 5, 0x3000}
	l.put(3, second)
	l.put(3, first)
	l.put(4, ownStack{1, 0, 1})
	see("two threads", first, second)
	l.put(3, again)
	see("an id that was given to another thread", first, again)
	l.drop(3, 1) // the first with that id was noticed to have ended only now
	see("its end", first, again)
	l.drop(3, 5)
	l.drop(3, 9)
	see("the end of the other one", first)
}
