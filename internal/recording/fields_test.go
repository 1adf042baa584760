package recording_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestFields: whichever fields are wanted, these and those that are always decoded have the same values as if all were
// wanted.
func TestFields(t *testing.T) {
	for name, p := range map[string]program{
		"cc1plus": programs["cc1plus"],
		"odd": {threads: 3, stacks: 60, window: 100, burst: 3, foreign: true, lifo: .5, realloc: .1, tick: 100,
			odd:      true,
			allFrees: true},
		"sampled": {threads: 2, stacks: 30, window: 50, burst: 9, tick: 300, sampled: true},
	} {
		for _, addresses := range []bool{false, true} {
			t.Run(fmt.Sprint(name, addresses), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a.htap")
				writeOf(t, path, event.Process{PID: 1, Sampling: event.Sampling{Bytes: 1000}}, p.run(4, 20000),
					recording.Options{Addresses: addresses})
				r, err := recording.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				_, last := r.Cuts()
				want, err := scanned(r, 0, last, recording.AllFields)
				if err != nil || len(want) < 20000 {
					t.Fatal(len(want), err)
				}
				for f := recording.Fields(0); f < recording.AllFields; f += thinner | 1 {
					got, err := scanned(r, 0, last, f)
					if err != nil || len(got) != len(want) {
						t.Fatalf("fields %#x: %d of %d events, %v", f, len(got), len(want), err)
					}
					for i := range want {
						if a, b := only(want[i], f), only(got[i], f); a != b {
							t.Fatalf("fields %#x: %+v instead of %+v", f, b, a)
						}
					}
				}
			})
		}
	}
}

// only returns an event without the fields that are not wanted.
func only(s seen, f recording.Fields) seen {
	blocks, bytes := s.Weight()
	e := event.Event{Kind: s.Kind, Func: s.Func, Thread: s.Thread, Stack: s.Stack, FreeStack: s.FreeStack,
		Flags: s.Flags, Ref: s.Ref, BornBy: s.BornBy,
		Align: s.Align, OldAddr: s.OldAddr, OldSize: s.OldSize}
	if f&recording.Times != 0 {
		e.Time, e.Born = s.Time, s.Born
	}
	if f&recording.Sizes != 0 {
		e.Size = s.Size
		e.OldSize ^= blocks<<32 ^ bytes // its weight
	}
	if f&recording.Usable != 0 {
		e.Usable = s.Usable
	}
	if f&recording.Counts != 0 {
		e.Count = s.Count
	}
	if f&recording.Addresses != 0 {
		e.Addr = s.Addr
	}
	return seen{s.n, s.ref, e}
}
