package record

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// converted is the recording of a hand-made spool.
func converted(t *testing.T, g *spooltest.Agent) *recording.Reader {
	t.Helper()
	g.Node(0, g.PC(0x1000, 0))
	g.Publish()
	out := filepath.Join(t.TempDir(), "out.htap")
	if err := Convert(t.Context(), g.Path, out); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func sampled(v uint64) []wire.Record { return []wire.Record{{Kind: wire.XSampled, Value: v}} }

// TestSampledSpool: samples keep their flag to their end and through a realloc, what was not recorded is distinguished,
// and what was exact stays so.
func TestSampledSpool(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} { // that it is sampled, when the recording begins
		g := spooltest.New(t, t.TempDir(), "prog", 4711)
		if known {
			g.Header.Control, g.Header.Sample = wire.ModeSampled, 4096
		} else {
			g.Header.Control = wire.ModeExact
		}
		g.SetPartial(0)
		s := g.Stream(0, 1, 0, "main")
		s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 100, Stack: 1}) // exact
		s.Event(sampled(4096), wire.Record{Kind: wire.KMalloc, Addr: 1024, Size: 1000, Stack: 1})
		s.Event(sampled(4096), wire.Record{Kind: wire.KMalloc, Addr: 4096, Size: 24, Stack: 1})
		s.Event(nil, wire.Record{Kind: wire.KFree, Addr: 4096})         // not temporary: who knows what came in between
		s.Event(nil, wire.Record{Kind: wire.KFree, Addr: 32})           // unrecorded
		s.Event(nil, wire.Record{Kind: wire.KReallocBegin, Addr: 1024}) // of a sample, the result is one, too
		s.Event(sampled(4096), wire.Record{Kind: wire.KRealloc, Addr: 2048, Size: 5000, Stack: 1})
		s.Event(nil, wire.Record{Kind: wire.KReallocBegin, Addr: 8192}) // of a block that was not recorded
		s.Event(sampled(4096), wire.Record{Kind: wire.KRealloc, Addr: 8192, Size: 3000, Stack: 1})
		s.Event(nil, wire.Record{Kind: wire.KReallocBegin, Addr: 2048}) // the result is no sample: freed
		s.Event(nil, wire.Record{Kind: wire.KRealloc, Addr: 0, Size: 0, Stack: 1})
		s.Event(nil, wire.Record{Kind: wire.KFree, Addr: 64})
		s.Leave()
		r := converted(t, g)
		want := event.Sampling{Bytes: 4096}
		if got := r.Process().Sampling; got.Bytes != want.Bytes || got.Calls != 0 || got.Seed == 0 {
			t.Errorf("the recording says %v", got)
		}
		type seen struct {
			kind  event.Kind
			flags event.Flags
			ref   uint64
		}
		const x, re, in = event.Sampled, event.Realloc, event.InPlace
		none := event.NoRef
		wants := []seen{{event.Alloc, 0, none}, {event.Alloc, x, none}, {event.Alloc, x, none}, {event.Free, x, 2},
			{event.Free, x | re, 1}, {event.Alloc, x | re, none}, {event.Unrecorded, re, none}, {event.Alloc,
				x | re | in, none}, {event.Free, x, 3},
			{event.Free, 0, 0}, {event.Unrecorded, 0, none}}
		var got []seen
		var live int64
		if err := r.Events(func(e *event.Event) bool {
			got = append(got, seen{e.Kind, e.Flags &^ event.HasUsable, e.Ref})
			n, bytes := e.Weight()
			if e.Flags&x == 0 && (n != 1 || bytes != e.Size) || e.Flags&x != 0 && bytes < e.Size {
				t.Errorf("%+v stands for %d blocks, %d bytes", e, n, bytes)
			}
			switch e.Kind {
			case event.Alloc:
				live += int64(bytes)
			case event.Free:
				live -= int64(bytes)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, wants) {
			t.Errorf("known %v: events\n%v, want\n%v", known, got, wants)
		}
		sum, err := r.Tally()
		if err != nil {
			t.Fatal(err)
		}
		if a := &sum.Totals; a.Samples != 4 || a.Unrecorded != 2 || a.Unmatched != 0 || a.Temporary != 0 ||
			a.LiveBytes != uint64(live) {
			t.Errorf("%+v; live %d", a, live)
		}
		if notes := r.Health().Notes; len(notes) > 0 {
			t.Error(notes)
		}
	}
}

// TestSamplingChanges: samples of another kind than the first ones are said to be wrong.
func TestSamplingChanges(t *testing.T) {
	t.Parallel()
	g := spooltest.New(t, t.TempDir(), "prog", 4711)
	s := g.Stream(0, 1, 0, "main")
	s.Event(sampled(wire.SampledCalls|10), wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8, Stack: 1})
	s.Event(sampled(4096), wire.Record{Kind: wire.KMalloc, Addr: 128, Size: 8, Stack: 1})
	s.Leave()
	r := converted(t, g)
	if got := r.Process().Sampling; got.Calls != 10 || got.Bytes != 0 || len(r.Health().Notes) != 1 {
		t.Errorf("%v, notes %q", got, r.Health().Notes)
	}
}

// TestCounts: what threads have counted comes into the recording of their process, function by function.
func TestCounts(t *testing.T) {
	t.Parallel()
	g := spooltest.New(t, t.TempDir(), "prog", 4711)
	g.Header.Control = wire.ModeCount
	g.SetPartial(0)
	g.Stream(0, 1, 0, "main").Leave()
	ended, main, other := g.Counts(), g.Counts(), g.Counts()
	ended.Rows[wire.KMalloc].Calls = 3
	main.UID, main.TID = 1, 4711
	copy(main.Name[:], "main")
	m := &main.Rows[wire.KMalloc]
	m.Calls, m.Failed, m.Bytes, m.Usable, m.Ticks, m.Timed = 10, 1, 1000, 1040, 5000, 4
	m.Sizes[7], m.Sizes[0], m.Times[9], m.Times[11] = 9, 1, 3, 1
	f := &main.Rows[wire.KStacked|wire.KFree&31]
	f.Calls, f.Usable = 7, 700
	other.Proc, other.TID = 9, 5000 // another process's
	other.Rows[wire.KMalloc].Calls = 77
	c := converted(t, g).Counts()
	if c == nil || c.Tick == 0 {
		t.Fatalf("%+v", c)
	}
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Timed > 0 {
			if r.Time == 0 {
				t.Errorf("%d ticks became no time", m.Ticks)
			}
			r.Time = 0
		}
	}
	want := []event.Count{{Func: event.Malloc, Calls: 3},
		{TID: 4711, Name: "main", Func: event.Malloc, Calls: 10, Failed: 1, Bytes: 1000, Usable: 1040, Timed: 4,
			Sizes: []event.Class{{Class: 0, Calls: 1}, {Class: 7, Calls: 9}}, Times: []event.Class{{Class: 9, Calls: 3},
				{Class: 11, Calls: 1}}},
		{TID: 4711, Name: "main", Func: event.FreeFunc, Frees: true, Calls: 7, Usable: 700}}
	if !reflect.DeepEqual(c.Rows, want) {
		t.Errorf("counts\n%+v, want\n%+v", c.Rows, want)
	}
}
