package event_test

import (
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestMismatchOf goes through all functions by their names: what belongs together is said in these.
func TestMismatchOf(t *testing.T) {
	t.Parallel()
	form := func(name string) (kind string, aligned bool) {
		switch {
		case !strings.HasPrefix(name, "operator "):
			return "C", false
		case strings.Contains(name, "[]"):
			kind = "array"
		default:
			kind = "one"
		}
		return kind, strings.Contains(name, "aligned")
	}
	for alloc := event.Malloc; alloc <= event.NewArrayAlignedNothrow; alloc++ {
		frees := []event.Func{event.ReallocFunc}
		for f := event.FreeFunc; f <= event.DeleteArrayAlignedNothrow; f++ {
			frees = append(frees, f)
		}
		for _, free := range frees {
			a, aAligned := form(alloc.String())
			f, fAligned := form(free.String())
			want := event.Mismatch(0)
			switch {
			case a != f:
				want = event.MismatchFunction
			case aAligned != fAligned,
				free == event.FreeSized && alloc == event.AlignedAlloc,
				free == event.FreeAlignedSized && !strings.Contains(alloc.String(), "align") && alloc != event.Valloc &&
					alloc != event.Pvalloc:
				want = event.MismatchAlignment
			}
			if got := event.MismatchOf(alloc, free); got != want {
				t.Errorf("%s / %s: %d, want %d", alloc, free, got, want)
			}
		}
	}
	for _, f := range []event.Func{event.FuncUnknown, event.Mmap} {
		if event.MismatchOf(f, event.FreeFunc) != 0 || event.MismatchOf(event.Malloc, f) != 0 {
			t.Errorf("%s mismatches", f)
		}
	}
}
