package recording_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// BenchmarkBig asks questions about a large recording. It makes that from the recording HEAPTAP_RECORDING of a real
// program, whose events it repeats: HEAPTAP_EVENTS (100 million) in all. It prints what a question costs: the median,
// the 99th percentile and the most.
func BenchmarkBig(b *testing.B) {
	source := os.Getenv("HEAPTAP_RECORDING")
	if source == "" {
		b.Skip("HEAPTAP_RECORDING names no recording")
	}
	want := uint64(100e6)
	if n, err := strconv.ParseFloat(os.Getenv("HEAPTAP_EVENTS"), 64); err == nil {
		want = uint64(n)
	}
	path := filepath.Join(b.TempDir(), "big.htap")
	repeat(b, source, path, want)
	before := heap()
	began := time.Now()
	r, err := recording.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	sum, err := r.Tally()
	if err != nil {
		b.Fatal(err)
	}
	opened := time.Since(began)
	_, last := r.Cuts()
	b.Logf("%d events, %d bytes, %d stacks; opened and summarised in %v, %d MB", last, r.Size(), len(sum.Stacks),
		opened, (heap()-before)>>20)
	rng := rand.New(rand.NewPCG(1, 2))
	ask := func(name string, n int, f func(from, to uint64)) {
		var took []time.Duration
		for range n {
			x, y := rng.Uint64N(last), rng.Uint64N(last)
			at := time.Now()
			f(min(x, y), max(x, y))
			took = append(took, time.Since(at))
		}
		slices.Sort(took)
		b.Logf("%-8s median %v, 99th %v, worst %v", name, took[n/2].Round(time.Microsecond),
			took[n*99/100].Round(time.Microsecond), took[n-1].Round(time.Microsecond))
	}
	for b.Loop() {
		ask("live", 200, func(_, to uint64) {
			if _, err := timetravel.LiveAt(b.Context(), r, to); err != nil {
				b.Fatal(err)
			}
		})
		ask("between", 200, func(from, to uint64) {
			if _, err := timetravel.Changes(b.Context(), r, from, to); err != nil {
				b.Fatal(err)
			}
		})
		ask("peak", 200, func(from, to uint64) {
			if _, _, err := timetravel.PeakBetween(b.Context(), r, from, to); err != nil {
				b.Fatal(err)
			}
		})
		ask("levels", 50, func(from, to uint64) {
			if _, err := timetravel.Levels(b.Context(), r, from, to, 200); err != nil {
				b.Fatal(err)
			}
		})
		began := time.Now()
		n := 0
		if err := r.EventsBetween(b.Context(), 0, min(last, 20e6),
			func(_, _ uint64, _ *event.Event) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
		b.Logf("decode   %.1f ns an event", float64(time.Since(began))/float64(n))
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// repeat writes the events of a recording again and again.
func repeat(b *testing.B, from, to string, events uint64) {
	r, err := recording.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	w, err := recording.Create(to, r.Process(), recording.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i, t := range r.Threads() {
		w.Thread(uint32(i), t)
	}
	r.PCs().All(func(i uint32, p event.PC) bool { w.PC(i, p); return true })
	r.Nodes().All(func(i uint32, n event.Node) bool { w.Node(i, n); return true })
	var shift, last int64
	var allocs, done uint64
	for done < events {
		n := uint64(0)
		if err := r.Events(func(e *event.Event) bool {
			v := *e
			v.Time += shift
			last = v.Time
			if v.Kind == event.Free {
				v.Ref += allocs
				v.Born += shift
			} else if v.Kind == event.Alloc {
				n++
			}
			if err := w.Event(&v); err != nil {
				b.Fatal(err)
			}
			done++
			return done < events
		}); err != nil {
			b.Fatal(err)
		}
		shift = last
		allocs += n
	}
	if err := w.Finish(recording.Ending{End: last}); err != nil {
		b.Fatal(err)
	}
}
