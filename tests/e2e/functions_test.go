package e2e

import (
	"fmt"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

// seen is what was recorded at one site.
type seen struct {
	events []string
	after  int // pairs of after()
}

// TestEveryFunction records each allocation function and each operator: one event each, under its own name, with its
// own size, below the function that called it, and the agent listens on.
func TestEveryFunction(t *testing.T) {
	t.Parallel()
	k := built(t)
	_, rec := one(t, k, programs.Case{Name: "every", Args: []string{k.Path("every")}})
	r, err := recording.Open(rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sites := map[string]*seen{}
	err = r.Events(func(e *event.Event) bool {
		site, after := siteOf(r, e.Stack)
		if site == "" {
			return true
		}
		s := sites[site]
		if s == nil {
			s = &seen{}
			sites[site] = s
		}
		if after {
			s.after++
			return true
		}
		s.events = append(s.events, describe(e))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range programs.Sites {
		var want []string
		switch {
		case site.Fails:
			want = []string{fmt.Sprintf("fail %v", site.Alloc)}
		case site.Alloc != event.FuncUnknown:
			want = []string{
				describe(&event.Event{Kind: event.Alloc, Func: site.Alloc, Size: site.Size, Align: site.Align,
					Count: site.Count}),
				describe(&event.Event{Kind: event.Free, Func: site.Free, Size: site.Size}),
			}
		}
		got := sites[site.Name]
		if got == nil {
			t.Errorf("%s: nothing recorded", site.Name)
			continue
		}
		kit.Same(t, site.Name, fmt.Sprintf("%q", got.events), fmt.Sprintf("%q", want))
		kit.Same(t, site.Name+": events of after()", got.after, 4)
	}
	if got := sites["site_realloc"]; got == nil {
		t.Error("site_realloc: nothing recorded")
	} else {
		kit.Same(t, "site_realloc", fmt.Sprintf("%q", got.events), fmt.Sprintf("%q", []string{
			"alloc malloc 2001", "free realloc 2001 (realloc)", "alloc realloc 2002 (realloc)",
			"free reallocarray 2002 (realloc)", "alloc reallocarray 30003 count 3 (realloc)",
			"fail realloc", "free realloc 30003",
		}))
		kit.Same(t, "site_realloc: events of after()", got.after, 8)
	}
}

func describe(e *event.Event) string {
	s := map[event.Kind]string{event.Alloc: "alloc", event.Free: "free", event.Fail: "fail",
		event.Unmatched: "unmatched", event.Inherited: "inherited"}[e.Kind] + " " + e.Func.String()
	if e.Kind == event.Fail {
		return s
	}
	s += fmt.Sprint(" ", e.Size)
	if e.Kind == event.Alloc && e.Align > 0 {
		s += fmt.Sprint(" align ", e.Align)
	}
	if e.Kind == event.Alloc && e.Count > 0 {
		s += fmt.Sprint(" count ", e.Count)
	}
	if e.Flags&event.Realloc != 0 {
		s += " (realloc)"
	}
	return s
}

// siteOf returns the site on a call stack, and whether it is an allocation of after(). The block of an exception is the
// runtime's, not the site's: libstdc++'s nothrow forms catch what the others throw.
func siteOf(r *recording.Reader, stack uint32) (site string, after bool) {
	for id := stack; id != 0; {
		node, ok := r.Nodes().Get(id)
		if !ok {
			return "", false
		}
		for _, f := range r.Frames(node.PC) {
			if f.Function == "__cxa_allocate_exception" {
				return "", false
			}
			if f.Function == "after" {
				after = true
			}
			if len(f.Function) > 5 && f.Function[:5] == "site_" {
				return f.Function, after
			}
		}
		id = node.Parent
	}
	return "", false
}

// TestThrow records ways out of operator new that are no return.
func TestThrow(t *testing.T) {
	t.Parallel()
	k := built(t)
	const n = 100
	_, rec := one(t, k, programs.Case{Name: "throw", Args: []string{k.Path("throw"), fmt.Sprint(n)}})
	// after() runs once for each of the three ways, each time, and once for the retry.
	got := rec.Below("after")
	kit.Same(t, "after(): allocations, deallocations", []uint64{got.Allocations, got.Deallocations},
		[]uint64{3*n + 1, 3*n + 1})
	got = rec.Below("handler_throws")
	kit.Same(t, "handler_throws(): malloc(72) and what it throws", got.Allocations >= n &&
		got.Deallocations == got.Allocations, true)
	got = rec.Below("handler_frees")
	kit.Same(t, "handler_frees(): allocations, deallocations, bytes",
		[]uint64{got.Allocations, got.Deallocations, got.Bytes}, []uint64{1, 1, 73})
	kit.Same(t, "failed: a new each, and nothing of the allocator's own attempts", rec.Totals.Failed, 3*n)
	got = rec.Below("retries")
	kit.Same(t, "retries(): bytes of the reserve and the block", got.Bytes >= 2*(400<<20), true)
}
