package recording

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

var shapes = []string{"loop", "cc1plus", "python", "threads4"}

const benchEvents = 4 * BlockEvents

func BenchmarkWrite(b *testing.B) {
	for _, name := range shapes {
		for _, addresses := range []bool{false, true} {
			label := name
			if addresses {
				label += "/addresses"
			}
			b.Run(label, func(b *testing.B) {
				events := programs[name].run(1, benchEvents)
				path := filepath.Join(b.TempDir(), "a.htap")
				from := cpu()
				b.ResetTimer()
				for range b.N {
					w, err := Create(path, event.Process{}, Options{Addresses: addresses})
					if err != nil {
						b.Fatal(err)
					}
					for i := 0; i < len(events); i += 4096 {
						if err := w.Events(events[i : i+4096]); err != nil {
							b.Fatal(err)
						}
					}
					if err := w.Finish(Ending{}); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				st, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				perEvent(b, from)
				b.ReportMetric(float64(st.Size())/benchEvents, "B/event")
			})
		}
	}
}

// cpu is the time that this process has computed: other work on the machine does not count.
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
			write(b, path, programs[name].run(1, benchEvents), Options{})
			from := cpu()
			b.ResetTimer()
			for range b.N {
				r, err := Open(path)
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

func BenchmarkEncodeOnly(b *testing.B) {
	for _, name := range shapes {
		b.Run(name, func(b *testing.B) {
			events := programs[name].run(1, benchEvents)
			x := newEncoder(Options{})
			var block sealed
			from := cpu()
			b.ResetTimer()
			for range b.N {
				for i := range events {
					if !x.room() {
						x.seal(&block)
					}
					x.add(&events[i])
				}
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
	names := map[columnID]string{colThreads: "threads", colRuns: "runs", colTimes: "times", colStacks: "stacks",
		colShapes: "shapes", colSparse: "sparse", colClass: "class", colStack0: "stack0", colStack1: "stack1",
		colStack2: "stack2", colSize: "size", colShape: "shape", colFreeShape: "freeshape", colSlack: "slack",
		colWideSlack: "wideslack", colRef: "ref", colFar0: "far0", colFar1: "far1", colFarSize: "farsize",
		colFarSlack: "farslack", colBorn: "born", colBornBy: "bornby", colAddr: "addr", colDistance: "distance", colFarAddr: "faraddr"}
	for _, name := range shapes {
		x := newEncoder(Options{})
		p, err := newPayload()
		if err != nil {
			t.Fatal(err)
		}
		raw, packed := map[columnID]int{}, map[columnID]int{}
		var s columns
		var block sealed
		var pack packing
		events := programs[name].run(1, benchEvents)
		for i := range events {
			x.add(&events[i])
			if !x.room() || i == len(events)-1 {
				x.seal(&block)
				pack.pack(&block, p)
				if err := s.parse(p.bytes()); err != nil {
					t.Fatal(err)
				}
				for _, id := range s.used {
					raw[id] += int(s.cols[id].raw)
					packed[id] += len(s.cols[id].data)
				}
			}
		}
		for id := range colEnd {
			if raw[id] > 0 {
				t.Logf("%-10s %-10s raw %6.3f packed %6.3f B/event", name, names[id], float64(raw[id])/benchEvents,
					float64(packed[id])/benchEvents)
			}
		}
	}
}
