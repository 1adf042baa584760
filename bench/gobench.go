package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gobench is a line of output of a Go benchmark.
type gobench struct{ pkg, name, values string }

// traces records the workloads that have trace set, without a recorder, each in a folder of its own. The spools are the
// input of the recorder's benchmark.
func (b *bench) traces(all []workload) (string, error) {
	dir := filepath.Join(b.dir, "traces")
	lib := filepath.Join(b.dir, "libheaptap.so")
	if out, err := exec.Command(b.heaptap, "agent", "-o", lib).CombinedOutput(); err != nil {
		return "", fmt.Errorf("heaptap agent: %w\n%s", err, out)
	}
	for i := range all {
		w := &all[i]
		if !w.trace {
			continue
		}
		at := filepath.Join(dir, traceName(w.name))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return "", err
		}
		args := w.command(4)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(append(os.Environ(), w.env...), "LD_PRELOAD="+lib, "HEAPTAP_DIR="+at, "HEAPTAP_SPILL_LIMIT=4g")
		cmd.Stdin = strings.NewReader(w.stdin)
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return dir, nil
}

// traceName returns the name of a workload's folder of traces.
func traceName(workload string) string { return strings.ReplaceAll(workload, " ", "-") }

// goBenchmarks runs the benchmarks of the packages in the table of numbers, each for a short time, on one core.
func goBenchmarks(traces string) []gobench {
	var all []gobench
	for _, pkg := range []string{"record", "spill", "ledger", "tally", "recording"} {
		cmd := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchtime", "0.5s", "-cpu", "1",
			"github.com/heaptap/heaptap/internal/"+pkg)
		cmd.Env = append(os.Environ(), "HEAPTAP_TRACES="+traces)
		out, _ := cmd.Output() // a package whose benchmarks fail has no lines
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
				continue
			}
			var values []string
			for i := 2; i+1 < len(f); i += 2 {
				values = append(values, f[i]+" "+f[i+1])
			}
			all = append(all, gobench{pkg, strings.TrimPrefix(f[0], "Benchmark"), strings.Join(values, ", ")})
		}
	}
	return all
}

// benchmarks measures the parts of the recorder on traces of the workloads.
func (b *bench) benchmarks(r *results) error {
	traces, err := b.traces(r.workloads)
	if err != nil {
		return err
	}
	start := time.Now()
	r.gobench = goBenchmarks(traces)
	for i := range r.workloads {
		name := r.workloads[i].name
		if !r.workloads[i].trace {
			continue
		}
		if r.times[name], err = recorderTime(traces, traceName(name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%-16s %5.1f s\n", "Go benchmarks", time.Since(start).Seconds())
	return nil
}
