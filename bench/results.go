package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// results holds all samples by workload and variant, in the order of the runs.
type results struct {
	workloads []workload
	variants  []variant
	missing   []string
	samples   map[string]map[string][]sample
	opens     map[string]float64 // s, of heaptap report on the workload's recording
	gobench   []gobench
	large     *large
	script    *script // nil: not measured
	columns   shares  // bytes of the recordings, by column
	times     shares  // ms of the recorder, by part
}

func newResults(missing []string) *results {
	return &results{missing: missing, samples: map[string]map[string][]sample{}, opens: map[string]float64{},
		columns: shares{}, times: shares{}}
}

// runs returns how often a workload runs in a variant. Synthetic workloads are shorter, so they run more often.
func runs(w *workload, v *variant, reps int) int {
	switch {
	case w.synthetic() && v.rarely:
		return min(reps, 3)
	case w.synthetic():
		return reps
	case v.rarely:
		return min((reps+1)/2, 2)
	}
	return (reps + 1) / 2
}

// measure runs a workload in all variants, in turn.
func (b *bench) measure(r *results, w *workload, reps int) error {
	of := map[string][]sample{}
	r.samples[w.name] = of
	start := time.Now()
	var kept string
	for rep := range reps {
		for i := range r.variants {
			v := &r.variants[i]
			if rep >= runs(w, v, reps) || v.class == rival && rep > 0 && of[v.name][rep-1].failed == hangs {
				continue
			}
			s, err := b.run(w, v)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", w.name, v.name, err)
			}
			of[v.name] = append(of[v.name], s)
			if s.file != "" {
				if kept != "" {
					os.RemoveAll(filepath.Dir(kept))
				}
				kept = s.file
			}
		}
	}
	if kept != "" {
		if err := b.open(r, w, kept); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "%-16s %5.1f s", w.name, time.Since(start).Seconds())
	for i := range r.variants {
		v := &r.variants[i]
		fmt.Fprintf(os.Stderr, "  %s %s", v.name, r.cell(w, v))
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// open reads the statistics of a recording, and removes it.
func (b *bench) open(r *results, w *workload, file string) (err error) {
	defer os.RemoveAll(filepath.Dir(file))
	var times []float64
	for range 5 {
		t := time.Now()
		if err := exec.Command(b.heaptap, "report", file).Run(); err != nil {
			return fmt.Errorf("heaptap report %s: %w", file, err)
		}
		times = append(times, time.Since(t).Seconds())
	}
	r.opens[w.name] = median(times)
	r.columns[w.name], err = b.columnBytes(file)
	return err
}

// of returns the medians of a workload in a variant. Its field failed says what went wrong, and in how many runs. ok is
// false if there was no run, or none succeeded.
func (r *results) of(w *workload, variant string) (m sample, ok bool) {
	var good []sample
	for _, s := range r.samples[w.name][variant] {
		if s.failed == "" {
			good = append(good, s)
		} else {
			m.failed = s.failed
		}
	}
	if bad := len(r.samples[w.name][variant]) - len(good); bad > 0 {
		m.failed += fmt.Sprintf(" %d of %d", bad, bad+len(good))
	}
	if len(good) == 0 {
		return m, false
	}
	pick := func(f func(sample) float64) float64 {
		v := make([]float64, len(good))
		for i, s := range good {
			v[i] = f(s)
		}
		return median(v)
	}
	m.cpuNs = pick(func(s sample) float64 { return s.cpuNs })
	m.wall = pick(func(s sample) float64 { return s.wall })
	m.complete = pick(func(s sample) float64 { return s.complete })
	m.units = good[0].units
	m.beside = pick(func(s sample) float64 { return s.beside })
	m.bytes = pick(func(s sample) float64 { return s.bytes })
	m.events = pick(func(s sample) float64 { return s.events })
	return m, true
}

// cost returns the cost of a variant against its base, computed run by run: the added CPU ns per unit or, for whole
// programs, the ratio of CPU times. ok is false if either has no successful run.
func (r *results) cost(w *workload, v *variant) (f figure, ok bool) {
	base := v.base
	switch {
	case base != "":
	case w.added:
		base = shim
	default:
		base = bare
	}
	combine := func(a, base float64) float64 { return a / base }
	if w.added {
		combine = func(a, base float64) float64 { return a - base }
	}
	of := r.samples[w.name]
	list := paired(of[v.name], of[base], combine)
	return figureOf(list), len(list) > 0
}

// cell returns the table cell of a workload in a variant.
func (r *results) cell(w *workload, v *variant) string {
	m, measured := r.of(w, v.name)
	c, compared := r.cost(w, v)
	switch {
	case !measured && m.failed != "":
		return m.failed
	case measured && v.class == baseline:
		return duration(m.perUnit())
	case measured && compared && m.failed != "":
		return w.costText(c.median) + " (" + m.failed + ")"
	case measured && compared:
		return w.costText(c.median)
	}
	return "-"
}

func (w *workload) costText(cost float64) string {
	switch {
	case !w.added && cost >= 10:
		return fmt.Sprintf("%.0fx", cost)
	case !w.added:
		return fmt.Sprintf("%.2fx", cost)
	case cost < 0:
		return "-" + duration(-cost)
	}
	return "+" + duration(cost)
}

// duration formats ns.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.1f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.0f ms", ns/1e6)
	}
	return fmt.Sprintf("%.2f s", ns/1e9)
}

// variant returns a variant by name, or nil.
func (r *results) variant(name string) *variant {
	for i := range r.variants {
		if r.variants[i].name == name {
			return &r.variants[i]
		}
	}
	return nil
}

// workload returns a workload by name, or nil.
func (r *results) workload(name string) *workload {
	for i := range r.workloads {
		if r.workloads[i].name == name {
			return &r.workloads[i]
		}
	}
	return nil
}
