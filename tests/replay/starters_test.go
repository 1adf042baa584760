package replay

import (
	"cmp"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/tests/kit"
)

// started is what a thread allocated to start others, and whether it allocated anything else.
type started struct {
	starts    int
	allocates bool
}

// starters says it of all threads, in the order in which they were started.
func starters(t *testing.T, r *recording.Reader) []started {
	t.Helper()
	all := make([]started, len(r.Threads()))
	if err := r.Walk(t.Context(), 0, lastOf(r), func(_, _ uint64, e *event.Event) bool {
		switch {
		case e.Kind != event.Alloc:
		case ofThreads(r, e.Stack):
			all[e.Thread].starts++
		default:
			all[e.Thread].allocates = true
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(r.Threads()[a].TID, r.Threads()[b].TID) })
	var list []started
	for _, i := range order {
		list = append(list, all[i])
	}
	return list
}

func lastOf(r *recording.Reader) uint64 {
	_, last := r.Cuts()
	return last
}

// TestStarters: threads of the player are started by those that started them in the program. One that allocates nothing
// there does not allocate here: allocators give memory of its own to a thread that does.
func TestStarters(t *testing.T) {
	_, r := kit.Record(t, kit.Compile(t, "gcc", "-O1", "-g", "src/starters.c", "-pthread"))
	want := []started{{2, true}, {1, true}, {0, false}, {0, false}}
	kit.Same(t, "threads of the program", starters(t, r), want)
	for _, order := range []replay.Order{replay.Window, replay.Total, replay.Free} {
		again := played(t, r, replay.Options{Order: order})
		kit.Same(t, "threads of the player, order "+string(order), starters(t, again), want)
	}
}
