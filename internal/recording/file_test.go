package recording

import (
	"os"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

func BenchmarkDecodeFile(b *testing.B) {
	r, err := Open(os.Getenv("HEAPTAP_RECORDING"))
	if err != nil {
		b.Skip(err)
	}
	n := 0
	for b.Loop() {
		if err := r.Events(func(*event.Event) bool { n++; return true }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/event")
}

func BenchmarkChangesFile(b *testing.B) {
	r, err := Open(os.Getenv("HEAPTAP_RECORDING"))
	if err != nil {
		b.Skip(err)
	}
	n := 0
	for b.Loop() {
		for i := range r.events {
			if l, err := r.changes(part{block: i, to: r.events[i].head.events, whole: true}); err != nil {
				b.Fatal(err)
			} else {
				n += len(l)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/change")
}
func BenchmarkPartFile(b *testing.B) {
	r, err := Open(os.Getenv("HEAPTAP_RECORDING"))
	if err != nil {
		b.Skip(err)
	}
	n := 0
	for b.Loop() {
		for i := range r.events {
			if _, err := r.changes(part{block: i, to: r.events[i].head.events}); err != nil {
				b.Fatal(err)
			}
			n += int(r.events[i].head.events)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/event")
}
