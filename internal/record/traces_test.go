package record

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkTraces does what BenchmarkPipeline does with spools of real programs: those in the folders of
// HEAPTAP_TRACES, one in each, as a program leaves them that was started with the agent and without a recorder.
func BenchmarkTraces(b *testing.B) {
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HEAPTAP_TRACES"), "*", "*.spool"))
	if os.Getenv("HEAPTAP_TRACES") == "" || len(found) == 0 {
		b.Skip("HEAPTAP_TRACES names no folder of spools")
	}
	for _, path := range found {
		b.Run(filepath.Base(filepath.Dir(path)), func(b *testing.B) {
			out := filepath.Join(b.TempDir(), "out.htap")
			var events uint64
			config := Config{Output: out, nameless: true, Report: func(r Report) {
				if r.Kind == Finished {
					events = r.Totals.Events
				}
			}}
			before := cpuTime()
			for b.Loop() {
				if err := convert(b.Context(), path, config); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(events) * float64(b.N)
			b.ReportMetric(n/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(n/(cpuTime()-before).Seconds()/1e6, "Mevents/cpu-s")
			if st, err := os.Stat(out); err == nil {
				b.ReportMetric(float64(st.Size())/float64(events), "B/event")
			}
		})
	}
}
