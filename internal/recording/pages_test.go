package recording_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

var someReadings = []event.PageReading{
	{Time: 10, Took: 5, PageSize: 4096, Areas: []event.AddrRange{{Start: 0x1000, End: 0x9000}},
		Resident: []event.AddrRange{{Start: 0x2000, End: 0x3000}, {Start: 0x8000, End: 0x9000}}},
	{Time: 10, PageSize: 4096, Areas: []event.AddrRange{{Start: 0x1000, End: 0xa000}},
		Resident: []event.AddrRange{{Start: 0x2000, End: 0xa000}}},
	{Time: 90, Took: 7, PageSize: 4096, Areas: []event.AddrRange{}, Resident: []event.AddrRange{}},
}

// randomPages returns readings of areas that come, grow and go, and of pages that do.
func randomPages(seed uint64, n int) (list []event.PageReading) {
	r := rand.New(rand.NewPCG(seed, 1))
	const page = 4096
	areas := make([]event.AddrRange, 12) // each has a hundred pages of room; empty: it is not there
	in := map[uint64]bool{}
	time := int64(0)
	for range n {
		p := event.PageReading{Time: time, Took: r.Int64N(1000), PageSize: page, Areas: []event.AddrRange{},
			Resident: []event.AddrRange{}}
		time += r.Int64N(3) * 500
		for i := range areas {
			if r.IntN(8) == 0 {
				areas[i] = event.AddrRange{}
				if r.IntN(3) > 0 {
					start := uint64(i)*100*page + 1<<20
					areas[i] = event.AddrRange{Start: start, End: start + (1+r.Uint64N(100))*page}
				}
			}
			a := areas[i]
			if a.End == 0 {
				continue
			}
			p.Areas = append(p.Areas, a)
			for at := a.Start; at < a.End; at += page {
				if r.IntN(20) == 0 {
					in[at] = r.IntN(2) == 0
				}
				if k := len(p.Resident); in[at] && k > 0 && p.Resident[k-1].End == at {
					p.Resident[k-1].End += page
				} else if in[at] {
					p.Resident = append(p.Resident, event.AddrRange{Start: at, End: at + page})
				}
			}
		}
		list = append(list, p)
	}
	return list
}

func allPages(r *recording.Reader) (list []event.PageReading) {
	r.PageReadings().All(func(p *event.PageReading) bool { list = append(list, *p); return true })
	return list
}

// TestPageReadings: they are read as they were written, however they are spread over blocks, and the nearest one is
// found without those far before it.
func TestPageReadings(t *testing.T) {
	t.Parallel()
	want := randomPages(1, 300)
	r := written(t, func(w *recording.Writer) error {
		for i, p := range want {
			w.PageReading(p)
			if i%7 == 3 || i > 200 && i < 240 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if got := allPages(r); !reflect.DeepEqual(got, want) {
		t.Fatalf("%d readings, or others than the %d that were written", len(got), len(want))
	}
	took := int64(0)
	for _, p := range want {
		took += p.Took
	}
	s := recording.PageSummary{Readings: 300, First: want[0].Time, Last: want[299].Time, Took: took, PageSize: 4096}
	if got := r.PageReadings().Summary(); got != s {
		t.Errorf("%+v, expected %+v", got, s)
	}
	distance := func(p *event.PageReading, from, to int64) int64 { return max(from-p.Time, p.Time-to, 0) }
	for at := int64(-500); at < want[299].Time+1000; at += 170 {
		for _, to := range []int64{at, at + 1, at + 700} {
			best := &want[0]
			for i := range want {
				p := &want[i]
				in, same := at <= p.Time && p.Time <= to, p.Time == best.Time
				if in || same || distance(p, at, to) < distance(best, at, to) {
					best = p
				}
			}
			if got := r.PageReadings().During(at, to); got == nil || got.Time != best.Time ||
				best.Time <= to && !reflect.DeepEqual(got, best) {
				t.Fatalf("from %d to %d: %+v, expected that at %d", at, to, got, best.Time)
			}
		}
	}
}

// TestPagesTooMany: a reading with more runs than the format has is left out, and those after it are right.
func TestPagesTooMany(t *testing.T) {
	t.Parallel()
	many := event.PageReading{Time: 20, PageSize: 4096, Areas: someReadings[0].Areas,
		Resident: make([]event.AddrRange, recording.MaxPageRanges+1)}
	r := written(t, func(w *recording.Writer) error {
		for _, p := range []event.PageReading{someReadings[0], many, someReadings[2]} {
			w.PageReading(p)
		}
		return nil
	})
	if got := allPages(r); !reflect.DeepEqual(got, []event.PageReading{someReadings[0], someReadings[2]}) {
		t.Errorf("%+v", got)
	}
}

// TestDamagedPages: of readings in a damaged block, those that only say what differs from them are left out as well,
// up to the next one that is whole; the reader says so.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	want := randomPages(2, 150)
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 1}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range want {
		w.PageReading(p)
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: 1e9}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []recording.Block
	for _, x := range whole.Blocks() {
		if x.Type == "page readings" {
			blocks = append(blocks, x)
		}
	}
	b[blocks[2].Offset+blocks[2].Size-1] ^= 1 // readings 20 to 29
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	// Readings 0, 64 and 128 are whole.
	if got := allPages(r); !reflect.DeepEqual(got, append(append([]event.PageReading{}, want[:20]...), want[64:]...)) {
		t.Errorf("%d readings", len(got))
	}
	if len(r.Damage()) == 0 {
		t.Error("the reader says nothing of the damage")
	}
	if got := r.PageReadings().During(want[30].Time, want[30].Time); got == nil ||
		got.Time > want[64].Time {
		t.Errorf("near reading 30: %+v", got)
	}
}
