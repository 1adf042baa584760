package recording_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

var shapes = []string{"loop", "cc1plus", "python", "threads4"}

const benchEvents = 4 * recording.BlockEvents

// BenchmarkWrite writes synthetic programs, and the recordings in the folder HEAPTAP_RECORDINGS, to disk, as a recorder
// does.
func BenchmarkWrite(b *testing.B) {
	for _, name := range shapes {
		for _, addresses := range []bool{false, true} {
			label := name
			if addresses {
				label += "/addresses"
			}
			b.Run(label, func(b *testing.B) {
				benchmarkWrite(b, programs[name].run(1, benchEvents), recording.Options{Addresses: addresses})
			})
		}
	}
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HEAPTAP_RECORDINGS"), "*.htap"))
	for _, path := range found {
		b.Run(filepath.Base(path), func(b *testing.B) {
			r, err := recording.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			var events []event.Event
			if err := r.Events(func(e *event.Event) bool {
				events = append(events, *e)
				return len(events) < 8*recording.BlockEvents
			}); err != nil {
				b.Fatal(err)
			}
			benchmarkWrite(b, events, recording.Options{})
		})
	}
}

func benchmarkWrite(b *testing.B, events []event.Event, opts recording.Options) {
	const size = 256 // as the recorder has them
	batches, plain := batchesOf(events, size), uint64(0)
	for _, batch := range batches {
		plain += batch.Plain
	}
	path := filepath.Join(b.TempDir(), "a.htap")
	var rows []event.Row
	from := cpu()
	b.ResetTimer()
	for range b.N {
		w, err := recording.Create(path, event.Process{}, opts)
		if err != nil {
			b.Fatal(err)
		}
		for _, batch := range batches {
			rows = append(rows[:0], batch.Rows...) // Append changes them
			again := *batch
			again.Rows = rows
			w.Append(&again)
		}
		if err := w.Finish(recording.Ending{}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	n := float64(len(events))
	b.ReportMetric(float64(cpu()-from)/float64(b.N)/n, "cpu-ns/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(st.Size())/n, "B/event")
	b.ReportMetric(float64(plain)/n*100, "%plain")
}

// cpu is the processor time of this process: other work on the machine does not count.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func perEvent(b *testing.B, from int64) {
	b.ReportMetric(float64(cpu()-from)/float64(b.N)/benchEvents, "cpu-ns/event")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkRead(b *testing.B) {
	for _, name := range shapes {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.htap")
			write(b, path, programs[name].run(1, benchEvents), recording.Options{})
			from := cpu()
			b.ResetTimer()
			for range b.N {
				r, err := recording.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				if err := r.Events(func(*event.Event) bool { n++; return true }); err != nil || n != benchEvents {
					b.Fatal(n, err)
				}
				r.Close()
			}
			perEvent(b, from)
		})
	}
}

// TestColumnBytes prints where the bytes of an event go: HEAPTAP_COLUMNS=1 go test -run ColumnBytes -v.
func TestColumnBytes(t *testing.T) {
	if os.Getenv("HEAPTAP_COLUMNS") == "" {
		t.Skip("prints a table; set HEAPTAP_COLUMNS=1")
	}
	for _, name := range shapes {
		path := filepath.Join(t.TempDir(), "a.htap")
		write(t, path, programs[name].run(1, benchEvents), recording.Options{})
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		raw, packed := map[string]int64{}, map[string]int64{}
		for i, b := range r.Blocks() {
			if b.Type != "events" {
				continue
			}
			list, err := r.Columns(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				raw[c.Name] += c.Unpacked
				packed[c.Name] += c.Stored
			}
		}
		for _, column := range slices.Sorted(maps.Keys(raw)) {
			t.Logf("%-10s %-32s raw %6.3f packed %6.3f B/event", name, column, float64(raw[column])/benchEvents,
				float64(packed[column])/benchEvents)
		}
	}
}
