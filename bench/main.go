package main

import (
	"embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed src/shim.c src/cpu.c
var sources embed.FS

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// results holds every sample by workload and variant.
type results struct {
	workloads []workload
	variants  []variant
	missing   []string
	samples   map[string]map[string][]sample
	opens     map[string]float64 // s to report the workload's recording
	gobench   []gobench
	large     *large
	columns   shares // bytes of the recordings
	times     shares // of the recorder, ms
}

func run() error {
	out := flag.String("o", "", "write the page to this file")
	reps := flag.Int("reps", 7, "runs of each workload in each variant (synthetic ones; real programs and rivals run less often)")
	scale := flag.Float64("scale", 1, "size of the workloads")
	only := flag.String("only", "", "measure the workloads whose names match this regular expression")
	heaptap := flag.String("heaptap", "", "an existing heaptap binary; built from this module if not given")
	rivals := flag.Bool("rivals", true, "measure heaptrack too, if it is installed")
	gobenches := flag.Bool("go", true, "run the Go benchmarks of the recorder, the ledger, the spill codec and the recording")
	large := flag.Float64("large", 1e8, "ask questions of a recording with so many events; 0: none")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	dir, err := os.MkdirTemp("", "heaptap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := build(dir, *heaptap)
	if err != nil {
		return err
	}
	all, missing, err := workloads(dir, *scale)
	if err != nil {
		return err
	}
	r := &results{missing: missing, samples: map[string]map[string][]sample{}, opens: map[string]float64{}, columns: shares{}, times: shares{}}
	for _, w := range all {
		if match.MatchString(w.name) {
			r.workloads = append(r.workloads, w)
		}
	}
	var none []string
	r.variants, none = b.variants(*rivals)
	r.missing = append(r.missing, none...)
	for i := range r.workloads {
		if err := b.measure(r, &r.workloads[i], *reps); err != nil {
			return err
		}
	}
	if *gobenches {
		traces, err := b.traces(r.workloads)
		if err != nil {
			return err
		}
		r.gobench = goBenchmarks(traces)
		for i := range r.workloads {
			name := r.workloads[i].name
			if r.times[name], err = recorderTime(traces, traceName(name)); err != nil {
				return err
			}
		}
	}
	if *large > 0 {
		if r.large, err = b.askLarge(*large); err != nil {
			return err
		}
	}
	page := r.page()
	fmt.Print("\n", page)
	if *out != "" {
		return os.WriteFile(*out, []byte(page), 0o644)
	}
	return nil
}

// build compiles the shim, the measuring program and heaptap.
func build(dir, heaptap string) (*bench, error) {
	b := &bench{dir: dir, heaptap: heaptap, shim: filepath.Join(dir, "shim.so"), cpu: filepath.Join(dir, "cpu")}
	if b.heaptap == "" {
		b.heaptap = filepath.Join(dir, "heaptap")
		cmd := exec.Command("go", "build", "-o", b.heaptap, "github.com/heaptap/heaptap/cmd/heaptap")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build ./cmd/heaptap: %w\n%s", err, out)
		}
	}
	for _, c := range []struct{ src, out, flags string }{{"shim.c", b.shim, "-shared"}, {"cpu.c", b.cpu, "-pie"}} {
		text, err := sources.ReadFile("src/" + c.src)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, c.src)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, err
		}
		out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", c.flags, "-o", c.out, path, "-ldl").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("gcc %s: %w\n%s", c.src, err, out)
		}
	}
	return b, nil
}

// measure runs one workload in all variants, in turn.
func (b *bench) measure(r *results, w *workload, reps int) error {
	r.samples[w.name] = map[string][]sample{}
	start := time.Now()
	var kept string
	crashed := map[string]bool{}
	if w.pairs == 0 {
		reps = (reps + 1) / 2
	}
	for rep := 0; rep < reps; rep++ {
		for i := range r.variants {
			v := &r.variants[i]
			if v.rival && (w.pairs == 0 && rep >= 2 || rep >= 3 || crashed[v.name]) {
				continue
			}
			s, err := b.run(w, v)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.name, v.name, err)
			}
			r.samples[w.name][v.name] = append(r.samples[w.name][v.name], s)
			crashed[v.name] = s.failed != ""
			if s.file != "" {
				if kept != "" {
					os.RemoveAll(filepath.Dir(kept))
				}
				kept = s.file
			}
		}
	}
	if kept != "" {
		var times []float64
		for i := 0; i < 5; i++ {
			t := time.Now()
			if err := exec.Command(b.heaptap, "report", kept).Run(); err != nil {
				return fmt.Errorf("heaptap report %s: %w", kept, err)
			}
			times = append(times, time.Since(t).Seconds())
		}
		r.opens[w.name] = median(times)
		var err error
		if r.columns[w.name], err = b.columnBytes(kept); err != nil {
			return err
		}
		os.RemoveAll(filepath.Dir(kept))
	}
	fmt.Fprintf(os.Stderr, "%-16s %5.1f s", w.name, time.Since(start).Seconds())
	for _, v := range r.variants {
		fmt.Fprintf(os.Stderr, "  %s %s", v.name, r.short(w, v.name))
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = append([]float64(nil), v...)
	sort.Float64s(v)
	if n := len(v) / 2; len(v)%2 == 1 {
		return v[n]
	} else {
		return (v[n-1] + v[n]) / 2
	}
}
