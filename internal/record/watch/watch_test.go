package watch_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/watch"
)

// TestWatch: a condition sets a mark once, and again after it was clearly false.
func TestWatch(t *testing.T) {
	t.Parallel()
	var got []string
	w := watch.New([]watch.Condition{
		{Text: "high", Measure: watch.RSS, Limit: 100}, {Text: "low", Measure: watch.SystemFree, Below: true,
			Limit: 50},
		{Text: "share", Measure: watch.Virtual, Share: 1},
	}, nil, func(m event.Mark) { got = append(got, m.Name) })
	for _, v := range []int64{0, 100, 101, 200, 100, 91, 101, 90, 100, 101, 0, 1 << 40} {
		w.Sample(&event.Sample{RSS: v, Virtual: -1, SystemFree: -1})
	}
	if len(got) != 3 {
		t.Errorf("above: %q", got)
	}
	got = nil
	for _, v := range []int64{60, 50, 49, 54, 49, 55, 49} {
		w.Sample(&event.Sample{RSS: -1, Virtual: -1, SystemFree: v})
	}
	if len(got) != 2 || got[0] != "low" {
		t.Errorf("below: %q", got)
	}
	got = nil
	for _, v := range []int64{1 << 20, 1 << 62} {
		w.Sample(&event.Sample{RSS: -1, Virtual: v, SystemFree: -1})
	}
	if len(got) != 1 {
		t.Errorf("of the machine's memory: %q", got)
	}
}
