package firefox

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

func TestLotRows(t *testing.T) {
	t.Parallel()
	a := &query.Answer{Begin: 1000, Span: 500 * steps}
	threads := []event.Thread{{TID: 70}, {TID: 71}}
	list := lotRows(map[lot]uint64{
		{born: 1, died: 1, stack: 5}:            10, // within the first step
		{born: 1, died: 0, stack: 5, thread: 1}: 20, // retained
		{born: 0, died: 2, stack: 6}:            30, // from before the range
		{born: steps, died: steps, stack: 6}:    40,
		{born: 3, died: 0, stack: 9}:            0, // moved to where it died
	}, threads, a)
	want := []row{
		{at: 1000, bytes: 20, stack: 5, block: 1, tid: 71},
		{at: 1000, bytes: 10, stack: 5, block: 2, tid: 70},
		{at: 1500, bytes: -10, stack: 5, block: 2, tid: 70},
		{at: 2000, bytes: -30, stack: 6, block: 0, tid: 70},
		{at: 1000 + 500*(steps-1), bytes: 40, stack: 6, block: 3, tid: 70},
		{at: 1000 + 500*steps, bytes: -40, stack: 6, block: 3, tid: 70},
	}
	if len(list) != len(want) {
		t.Fatalf("%d rows: %v", len(list), list)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("row %d: %+v, expected %+v", i, list[i], want[i])
		}
	}
}

func TestBreakpadID(t *testing.T) {
	t.Parallel()
	for build, want := range map[string]string{
		"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a" +
			"\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14": "0403020106050807090A0B0C0D0E0F100",
		"": "000000000000000000000000000000000",
	} {
		if got := breakpadID([]byte(build)); got != want {
			t.Errorf("%x: %s, expected %s", build, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{0: "0", 100: "0.0001", 1e6: "1", 1_234_567_800: "1234.5678", 1e9: "1000"} {
		if got := string(appendTime(nil, ns)); got != want {
			t.Errorf("%d ns: %s ms, expected %s", ns, got, want)
		}
	}
}
