package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/programs"
)

// testBench builds everything but heaptap.
func testBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b, err := build(dir, "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMeasure(t *testing.T) {
	b := testBench(t)
	w := filepath.Join(b.dir, "w")
	if err := programs.Compile("../tests/programs/src/w.c", w); err != nil {
		t.Fatal(err)
	}
	variants := append(b.baselines(), variant{name: "backtrace", start: direct("LD_PRELOAD=" + b.backtrace)})
	if b.sketch != "" {
		variants = append(variants, b.sketchVariant())
	}
	for _, c := range []struct {
		w     workload
		units float64
	}{
		{workload{name: "W1", args: []string{w, "w1"}, pairs: 20000, unit: perPair}, 20000},
		{workload{name: "depth 500", args: []string{w, "w1d500"}, pairs: 2000, unit: perPair}, 2000},
		{workload{name: "W1 on 8 threads", args: []string{w, "w1t8"}, pairs: 2000, unit: perPair}, 16000},
		{workload{name: "churn", args: []string{w, "many"}, pairs: 40, unit: perThread}, 40},
		{workload{name: "sh", args: []string{"sh", "-c", "test $X = 1"}, env: []string{"X=1"}}, 1},
	} {
		took := map[string]float64{}
		for i := range variants {
			s, err := b.run(&c.w, &variants[i])
			if err != nil {
				t.Fatalf("%s, %s: %v", c.w.name, variants[i].name, err)
			}
			if s.failed != "" || s.units != c.units || s.cpuNs <= 0 || s.wall <= 0 {
				t.Errorf("%s, %s: %+v, want %v units", c.w.name, variants[i].name, s, c.units)
			}
			took[variants[i].name] = s.perUnit()
		}
		// 500 frames take microseconds; nothing else does.
		if c.w.name == "depth 500" && took["backtrace"] < took[shim]+1000 {
			t.Errorf("backtrace(3) of 500 frames takes %s, the shim %s", duration(took["backtrace"]),
				duration(took[shim]))
		}
	}
}

func TestMeasureFailure(t *testing.T) {
	b := testBench(t)
	crash := workload{name: "crash", args: []string{"sh", "-c", "kill -SEGV $$"}}
	for class, want := range map[class]string{rival: "crashes", baseline: "fails"} {
		s, err := b.run(&crash, &variant{name: bare, class: class, start: direct()})
		if err != nil || s.failed != want {
			t.Errorf("%q, %v; want %q", s.failed, err, want)
		}
	}
}

// If a driver fails, the program is ended: here one that would not end by itself.
func TestGivingUp(t *testing.T) {
	b := testBench(t)
	pidFile := filepath.Join(b.dir, "pid")
	w := workload{name: "sleep", args: []string{"sh", "-c", "echo $$ >" + pidFile + "; exec sleep 600"},
		drive: func(string, int) (float64, error) {
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if text, _ := os.ReadFile(pidFile); len(text) > 1 {
					break
				}
			}
			return 0, errors.New("no answer")
		}}
	start := time.Now()
	s, err := b.run(&w, &variant{name: bare, class: rival, start: direct()})
	if err != nil || s.failed != "crashes" {
		t.Errorf("%q, %v", s.failed, err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}
