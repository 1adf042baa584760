package recording_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestPlain: the same events give the same file, whether plain ones are passed to Plain or all to Event.
func TestPlain(t *testing.T) {
	t.Parallel()
	for i, p := range []program{
		{threads: 1, stacks: 300, window: 500, lifo: .6, realloc: .02, long: .1, tick: 90},
		{threads: 4, stacks: 70, window: 300, burst: 5, foreign: true, repeat: .5, tick: 700},
		{threads: 3, stacks: 40, window: 100, burst: 9, foreign: true, odd: true, sampled: true, tick: 300},
	} {
		for _, n := range []int{1, recording.ChunkEvents, 20_000, recording.BlockEvents,
			recording.BlockEvents + 3*recording.ChunkEvents + 7} {
			t.Run(fmt.Sprint(i, " ", n), func(t *testing.T) {
				t.Parallel()
				events := p.run(uint64(n), n)
				for i := range events {
					if e := &events[i]; e.Kind == event.Free {
						e.Flags &^= event.HasUsable // which one that takes the short way never has
						e.Usable = 0
					}
				}
				one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
				opts := recording.Options{Addresses: n%2 == 0}
				writeOf(t, one, event.Process{PID: 1}, events, opts)
				short := writeShort(t, two, events, opts)
				a, _ := os.ReadFile(one)
				b, _ := os.ReadFile(two)
				if len(a) == 0 || !bytes.Equal(a, b) {
					t.Errorf("%d and %d bytes, which differ", len(a), len(b))
				}
				if n > 1 && short < n/10 {
					t.Errorf("only %d of %d events took the short way", short, n)
				}
			})
		}
	}
}

// writeShort writes the plain events by Plain, and returns their number.
func writeShort(t *testing.T, path string, events []event.Event, opts recording.Options) (short int) {
	w, err := recording.Create(path, event.Process{PID: 1}, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		if h, r := w.Handed(), w.Room(); h != uint64(i) || r != recording.BlockEvents-i && r != 2*recording.BlockEvents-i {
			t.Fatalf("before event %d: %d handed over, room for %d", i, h, r)
		}
		p := plainOf(e)
		if p.Way == event.NotPlain {
			if err := w.Event(e); err != nil {
				t.Fatal(err)
			}
			continue
		}
		allocs, bytes := gain(p)
		w.Plain([]event.Plain{p}, allocs, bytes)
		short++
	}
	bytes, blocks := w.Live()
	allocs := w.Allocations()
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	c := w.Tally().Totals()
	if c.LiveBytes != bytes || c.LiveBlocks != blocks {
		t.Errorf("%d bytes in %d blocks were live, at last %d in %d", bytes, blocks, c.LiveBytes, c.LiveBlocks)
	}
	n := uint64(0)
	for i := range events {
		if events[i].Kind == event.Alloc {
			n++
		}
	}
	if allocs != n {
		t.Errorf("%d allocations, want %d", allocs, n)
	}
	return short
}

// plainOf returns an event as Plain takes it; one that is not plain has Way NotPlain.
func plainOf(e *event.Event) event.Plain {
	p := event.Plain{Time: uint64(e.Time / recording.Quantum), Addr: e.Addr, Size: e.Size, Stack: e.Stack,
		Thread: e.Thread, Func: e.Func}
	switch {
	case e.Kind == event.Alloc && e.Flags == event.HasUsable && e.Align|e.OldAddr == 0 &&
		(e.Count == 0 || e.Func == event.Calloc || e.Func == event.Reallocarray) &&
		e.Usable >= e.Size && e.Usable-e.Size < 256:
		p.Ref, p.Born = e.Usable-e.Size, e.Count
	case e.Kind == event.Free && e.Flags&^event.Temporary == 0 && e.FreeStack == 0 && e.Size < 1<<63 &&
		e.Align|e.Count|e.OldAddr == 0:
		p.Way, p.Ref, p.Born, p.BornBy = event.PlainFree, e.Ref, uint64(e.Born/recording.Quantum), e.BornBy
		if e.Flags&event.Temporary != 0 {
			p.Way = event.PlainTemporary
		}
	default:
		p.Way = event.NotPlain
	}
	return p
}

// gain returns what a plain event adds to the numbers that Plain gets.
func gain(p event.Plain) (allocs, bytes uint64) {
	if p.Way == event.PlainAlloc {
		return 1, p.Size
	}
	return 0, -p.Size
}
