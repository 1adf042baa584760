package recording_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// seen is an event as Scan and Walk yield it.
type seen struct {
	n, ref uint64
	event.Event
}

// scanned gathers what Scan yields, block by block.
func scanned(r *recording.Reader, from, to uint64, f recording.Fields) (list []seen, err error) {
	err = r.Scan(context.Background(), from, to, f, func(s recording.Stretch) (func(*recording.Batch) bool, func()) {
		var part []seen
		each := func(n, ref uint64, e *event.Event) bool {
			part = append(part, seen{n, ref, *e})
			return true
		}
		return block.OneByOne(each), func() {
			if len(list) > 0 && len(part) > 0 && list[len(list)-1].n >= part[0].n || len(part) > 0 &&
				part[0].n != s.First {
				panic("blocks are not in order")
			}
			list = append(list, part...)
		}
	})
	return list, err
}

// TestScan: on any number of processors, Scan yields the same events as EventsBetween: of whole recordings, of cut
// ones, and of damaged ones, up to the same event and with the same error.
func TestScan(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	whole := levels(t, 40, true)
	for round := range 60 {
		runtime.GOMAXPROCS([]int{1, 2, 7}[round%3])
		rng := rand.New(rand.NewPCG(uint64(round), 1))
		b := bytes.Clone(whole)
		r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x.htap")
		if err != nil {
			t.Fatal(err)
		}
		blocks := eventBlocks(r)
		switch round % 4 {
		case 1: // some blocks are damaged: their checksum tells
			for range 1 + rng.IntN(3) {
				p := payload(b, blocks[rng.IntN(len(blocks))])
				p[rng.IntN(len(p))] ^= 1
			}
		case 2: // events cannot be decoded from somewhere on: that is found out only then
			i := rng.IntN(len(blocks))
			p := payload(b, blocks[i])
			p[len(p)*9/10+rng.IntN(len(p)/10)] ^= 1 << rng.IntN(8)
			r.TrustPayload(i, p)
		case 3:
			size := recording.FileHeaderLength + rng.IntN(len(b)-recording.FileHeaderLength)
			if r, err = recording.NewReader(bytes.NewReader(b), int64(size), "x.htap"); err != nil {
				t.Fatal(err)
			}
		}
		_, last := r.Cuts()
		for range 20 {
			from := rng.Uint64N(last + 1)
			to := from + rng.Uint64N(last-from+1)
			var want []seen
			alloc := uint64(0)
			start := from
			if i := blockOf(r, from); i < len(eventBlocks(r)) {
				start = min(from, eventBlocks(r)[i].FirstEvent)
				if alloc, err = r.AllocsBefore(start); err != nil {
					t.Fatal(err)
				}
			}
			wantErr := r.EventsBetween(t.Context(), start, to, func(n, _ uint64, e *event.Event) bool {
				s := seen{n, e.Ref, *e}
				if e.Kind == event.Alloc {
					s.ref = alloc
					alloc++
				}
				want = append(want, s)
				return true
			})
			got, err := scanned(r, from, to, recording.AllFields)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("round %d, %d to %d: %v, want %v", round, from, to, err, wantErr)
			}
			if len(got) != len(want) {
				t.Fatalf("round %d, %d to %d: %d events, want %d", round, from, to, len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("round %d: %+v, want %+v", round, got[i], want[i])
				}
			}
			if n, err := r.AllocsBefore(to); wantErr == nil && start < to && (err != nil || n != alloc) {
				t.Fatalf("round %d: %d allocations before %d, want %d: %v", round, n, to, alloc, err)
			}
		}
	}
}
