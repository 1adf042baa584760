package recording_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestPlain: the same events give the same file, whether plain ones are rows or all go by Event.
func TestPlain(t *testing.T) {
	t.Parallel()
	for i, p := range []program{
		{threads: 1, stacks: 300, window: 500, lifo: .6, realloc: .02, long: .1, tick: 90},
		{threads: 4, stacks: 70, window: 300, burst: 5, foreign: true, repeat: .5, tick: 700},
		{threads: 3, stacks: 40, window: 100, burst: 9, foreign: true, odd: true, sampled: true, tick: 300},
	} {
		for _, n := range []int{1, 4096, 20_000, recording.BlockEvents, recording.BlockEvents + 12_295} {
			t.Run(fmt.Sprint(i, " ", n), func(t *testing.T) {
				t.Parallel()
				events := p.run(uint64(n), n)
				for i := range events {
					if e := &events[i]; e.Kind == event.Free {
						e.Flags &^= event.HasUsable // which a row never has
						e.Usable = 0
					}
				}
				one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
				opts := recording.Options{Addresses: n%2 == 0}
				writeOf(t, one, event.Process{PID: 1}, events, opts)
				plain := writeRows(t, two, events, 1+n%300, opts)
				a, _ := os.ReadFile(one)
				b, _ := os.ReadFile(two)
				if len(a) == 0 || !bytes.Equal(a, b) {
					t.Errorf("%d and %d bytes, which differ", len(a), len(b))
				}
				if n > 1 && plain < n/10 {
					t.Errorf("only %d of %d events were rows", plain, n)
				}
			})
		}
	}
}

// writeRows writes events as rows where they fit, and returns the number of these.
func writeRows(t *testing.T, path string, events []event.Event, size int, opts recording.Options) (plain int) {
	w, err := recording.Create(path, event.Process{PID: 1}, opts)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, b := range batchesOf(events, size) {
		if h, r := w.Handed(), w.Room(); h != uint64(at) || r != recording.BlockEvents-at &&
			r != 2*recording.BlockEvents-at {
			t.Fatalf("before event %d: %d handed over, room for %d", at, h, r)
		}
		w.Append(b)
		at += len(b.Rows)
		plain += int(b.Plain)
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
	return plain
}

// rowOf returns an event's row; RowOther: it does not fit into one.
func rowOf(e *event.Event) event.Row {
	p := event.Row{Time: uint64(e.Time / recording.Quantum), Addr: e.Addr, Size: e.Size, Stack: e.Stack,
		Thread: e.Thread,
		Func:   e.Func}
	switch {
	case e.Kind == event.Alloc && e.Flags == event.HasUsable && e.Align|e.OldAddr == 0 &&
		(e.Count == 0 || e.Func == event.Calloc || e.Func == event.Reallocarray) &&
		e.Usable >= e.Size && e.Usable-e.Size < 256:
		p.Ref, p.Born = e.Usable-e.Size, e.Count
	case e.Kind == event.Free && e.Flags&^event.Temporary == 0 && e.FreeStack == 0 && e.Size < 1<<63 &&
		e.Align|e.Count|e.OldAddr == 0:
		p.Kind, p.Ref, p.Born, p.BornBy = event.RowFree, e.Ref, uint64(e.Born/recording.Quantum), e.BornBy
		if e.Flags&event.Temporary != 0 {
			p.Kind = event.RowTemporary
		}
	default:
		p.Kind = event.RowOther
	}
	return p
}

// batchesOf makes batches of at most so many events: those that fit into rows are rows.
func batchesOf(events []event.Event, size int) (list []*event.Batch) {
	allocs := uint64(0)
	for part := range slices.Chunk(events, size) {
		b := &event.Batch{}
		for i := range part {
			e := &part[i]
			r := rowOf(e)
			b.Rows = append(b.Rows, r)
			if r.Kind == event.RowOther {
				b.Full = append(b.Full, event.Full{Event: *e, Allocs: allocs})
				b.Others = append(b.Others, event.Other{Row: len(b.Rows) - 1, End: len(b.Full)})
			} else {
				b.Plain++
				b.Bytes -= r.Size
			}
			if r.Kind == event.RowAlloc {
				b.Allocs++
				b.Bytes += 2 * r.Size
			}
			if e.Kind == event.Alloc {
				allocs++
			}
		}
		list = append(list, b)
	}
	return list
}
