// Package sampled proves that sampled mode is unbiased: the estimates of many runs agree with what the program has
// asked for, within the standard errors that follow from the samples.
package sampled

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

const runs = 30

// sum is of calls or of bytes: what was asked for, or an estimate and its variance.
type sum struct{ value, variance float64 }

type sums struct {
	calls, bytes, leaked sum
	samples              int
}

// TestUnbiased runs a program whose functions report what they request.
func TestUnbiased(t *testing.T) {
	t.Parallel()
	sites := kit.Compile(t, "gcc", "-O1", "src/sites.c")
	for _, how := range [][]string{{"--sample", "64KiB"}, {"--sample-calls", "50"}} {
		t.Run(strings.Join(how, " "), func(t *testing.T) {
			j := &judge{}
			for range runs {
				j.run(t, how, sites)
			}
			j.judge(t)
		})
	}
}

// judge compares estimates with the truth.
type judge struct {
	estimates map[string][]sums // by process and function
	truth     map[string]sums
}

// run records the program once. Its forked child does a quarter of what it does itself.
func (j *judge) run(t *testing.T, how []string, sites string) {
	dir := t.TempDir()
	args := append([]string{"run", "-q", "--mode", "sampled", "-o", dir + "/%p.htap"}, how...)
	out := kit.Heaptap(t, append(args, sites, "1000")...)
	if j.truth == nil {
		j.truth, j.estimates = truth(t, out), map[string][]sums{}
	}
	files, _ := filepath.Glob(dir + "/*.htap")
	if len(files) != 2 {
		t.Fatalf("%d recordings, expected 2", len(files))
	}
	for _, f := range files {
		found := estimate(t, f)
		process := "child"
		if found["handled"].samples > 0 {
			process = "parent"
		}
		for key := range j.truth {
			if p, function, _ := strings.Cut(key, " "); p == process {
				j.estimates[key] = append(j.estimates[key], found[function])
			}
		}
	}
}

// truth reads what the program has printed.
func truth(t *testing.T, out string) map[string]sums {
	m := map[string]sums{}
	for line := range strings.Lines(string(out)) {
		var name string
		var calls, bytes float64
		if _, err := fmt.Sscan(line, &name, &calls, &bytes); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		s := sums{calls: sum{value: calls}, bytes: sum{value: bytes}}
		if name == "kept" {
			s.leaked = s.bytes
		}
		m["parent "+name] = s
		if name != "handled" {
			m["child "+name] = sums{calls: sum{value: calls / 4}, bytes: sum{value: bytes / 4},
				leaked: sum{value: s.leaked.value / 4}}
		}
	}
	return m
}

// estimate adds up a recording's samples by the function that allocated, and checks that the table of functions says
// the same, to the unit.
func estimate(t *testing.T, file string) map[string]sums {
	innermost := map[int]string{}
	for _, l := range kit.JSON[struct {
		Stack  int
		Frames []struct{ Function string }
	}](t, "dump", "--stacks", "--json", file) {
		if len(l.Frames) > 0 {
			innermost[l.Stack] = l.Frames[0].Function
		}
	}
	found := map[string]sums{}
	for _, e := range kit.JSON[struct {
		Kind         string
		Stack        int
		Size         float64
		Sampled      bool
		Weight       float64
		Weight_bytes float64 //nolint:revive // as the field is called
	}](t, "dump", "--events", "--json", file) {
		sign := map[string]float64{"alloc": 1, "free": -1}[e.Kind]
		if sign == 0 {
			continue
		}
		if !e.Sampled {
			e.Weight, e.Weight_bytes = 1, e.Size
		}
		s := found[innermost[e.Stack]]
		s.leaked.add(sign*e.Weight_bytes, sign*e.Weight_bytes*(e.Weight_bytes-e.Size))
		if sign > 0 {
			s.samples++
			s.calls.add(e.Weight, e.Weight*(e.Weight-1))
			s.bytes.add(e.Weight_bytes, e.Weight_bytes*(e.Weight_bytes-e.Size))
		}
		found[innermost[e.Stack]] = s
	}
	compare(t, file, found)
	return found
}

func (s *sum) add(value, variance float64) {
	s.value += value
	s.variance += variance
}

// runtimes are functions whose blocks libc and the loader keep: they are not leaked, though never freed. malloc and
// calloc are the loader's own, which are also called for what is freed.
var runtimes = []string{"_IO_file_doallocate", "__GI__IO_file_doallocate", "calloc", "malloc"}

func compare(t *testing.T, file string, found map[string]sums) {
	for _, l := range kit.JSON[struct {
		Rows []struct {
			Group struct{ Function string }
			Self  struct{ Allocations, Bytes, Leaked float64 }
		}
	}](t, "top", "--by", "function", "--limit", "100000", "--metric", "allocations,bytes,leaked", "--json", file) {
		for _, r := range l.Rows {
			f := found[r.Group.Function]
			leaked := f.leaked.value
			if slices.Contains(runtimes, r.Group.Function) {
				leaked = 0
			}
			if r.Self.Allocations != f.calls.value || r.Self.Bytes != f.bytes.value || r.Self.Leaked != leaked {
				t.Errorf("%s: top says %+v, the events %+v", r.Group.Function, r.Self, f)
			}
		}
	}
}

// A difference of more than 4.5 standard errors is one in 150,000; there are about a hundred.
const tooFar = 4.5

func (j *judge) judge(t *testing.T) {
	covered, intervals := 0, 0
	for key, want := range j.truth {
		list := j.estimates[key]
		for _, m := range []struct {
			name string
			of   func(s *sums) sum
		}{
			{"calls", func(s *sums) sum { return s.calls }},
			{"bytes", func(s *sums) sum { return s.bytes }},
			{"leaked", func(s *sums) sum { return s.leaked }},
		} {
			truth, mean, variance, samples := m.of(&want).value, 0.0, 0.0, 0.0
			if truth == 0 {
				continue
			}
			for i := range list {
				e := m.of(&list[i])
				mean += e.value / float64(len(list))
				variance += e.variance / float64(len(list))
				samples += float64(list[i].samples) / float64(len(list))
				if list[i].samples >= 30 {
					intervals++
					if math.Abs(e.value-truth) <= 1.96*math.Sqrt(e.variance) {
						covered++
					}
				}
			}
			far := (mean - truth) / math.Sqrt(variance/float64(len(list)))
			t.Logf("%-15s %-7s %12.0f, estimated %12.0f, %5.2f standard errors off, %5.0f samples", key, m.name, truth,
				mean, far, samples)
			if math.IsNaN(far) || math.Abs(far) > tooFar {
				t.Errorf("%s: %s are %.0f, and estimated as %.0f: %.1f standard errors off", key, m.name, truth, mean,
					far)
			}
		}
	}
	share := float64(covered) / float64(intervals)
	t.Logf("%.1f %% of %d intervals cover the truth", 100*share, intervals)
	if share < 0.88 || share > 0.985 { // the intervals of one run are not independent
		t.Errorf("%.1f %% of %d intervals cover the truth, expected 95 %%", 100*share, intervals)
	}
}
