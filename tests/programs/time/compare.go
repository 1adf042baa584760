package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"

	"github.com/heaptap/heaptap/tests/programs"
)

// function identifies a function by name and file. The file has no folder and, if a library, no version after .so.
type function struct{ name, module string }

func of(name, module string) function {
	module, _, _ = strings.Cut(filepath.Base(module), ".so")
	return function{name, module}
}

// pair is a function with its shares of the whole according to perf and heaptap.
type pair struct {
	function
	perf, heaptap float64
	allocator     bool // most of its time is that of allocations that it makes itself
}

// result is the comparison of a program.
type result struct {
	*programs.Workload
	pairs     []pair
	missing   int     // functions with more than a hundredth according to perf only
	samples   int     // of perf
	bare      float64 // s
	total     float64 // s, of the metric time
	recorded  float64 // s, from the first event on
	alloc     float64 // ns of an allocation, as the agent measured
	free      float64
	events    uint64
	perfShare map[function]float64
}

// least is the smallest share of the whole with which a function counts.
const least = .01

func compare(ctx context.Context, dir, heaptap string, w *programs.Workload) (*result, error) {
	r := &result{Workload: w}
	data, htap := filepath.Join(dir, "perf.data"), filepath.Join(dir, w.Name+".htap")
	began := time.Now()
	if err := quiet(w.Command()); err != nil {
		return nil, err
	}
	r.bare = time.Since(began).Seconds()
	if err := quiet(w.Command("perf", "record", "-q", "-F", "999", "-e", "cpu-clock:u", "--call-graph", "dwarf,32768",
		"-o", data)); err != nil {
		return nil, fmt.Errorf("perf record: %w", err)
	}
	if err := r.readPerf(ctx, data); err != nil {
		return nil, err
	}
	if err := quiet(w.Command(heaptap, "run", "-q", "-o", htap, "--")); err != nil {
		return nil, fmt.Errorf("heaptap run: %w", err)
	}
	return r, r.readHeaptap(heaptap, htap)
}

func quiet(cmd *exec.Cmd) error {
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, errs.String())
	}
	return nil
}

// readPerf counts the samples in which each function is on the stack.
func (r *result) readPerf(ctx context.Context, data string) error {
	cmd := exec.CommandContext(ctx, "perf", "script", "-i", data, "-F", "ip,sym,dso", "--no-inline", "--no-demangle",
		"--max-stack", "1000")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("perf script: %w", err)
	}
	counts, seen := map[function]int{}, map[function]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			if len(seen) > 0 {
				r.samples++
			}
			for f := range seen {
				counts[f]++
			}
			clear(seen)
			continue
		}
		// address name (file)
		_, rest, _ := strings.Cut(line, " ")
		open := strings.LastIndex(rest, " (")
		if open < 0 {
			continue
		}
		name, module := rest[:open], strings.TrimSuffix(rest[open+2:], ")")
		seen[of(demangle.Filter(name), module)] = true
	}
	r.perfShare = map[function]float64{}
	for f, n := range counts {
		r.perfShare[f] = float64(n) / float64(max(r.samples, 1))
	}
	return nil
}

// readHeaptap reads the metric time of the same functions.
func (r *result) readHeaptap(heaptap, file string) error {
	var t struct {
		Range struct {
			Events uint64 `json:"to_event"`
			Span   int64  `json:"span_ns"`
		}
		Total struct{ Time float64 }
		Rows  []struct {
			Group       struct{ Function, Module string }
			Self, Total struct{ Time float64 }
		}
	}
	out, err := exec.Command(heaptap, "top", "--by", "function", "--metric", "time", "--limit", "0", "--json",
		file).Output()
	if err != nil {
		return fmt.Errorf("heaptap top: %w", err)
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return fmt.Errorf("heaptap top: %w", err)
	}
	r.total, r.recorded, r.events = t.Total.Time/1e9, float64(t.Range.Span)/1e9, t.Range.Events
	mine, self := map[function]float64{}, map[function]float64{}
	for _, row := range t.Rows {
		if row.Group.Function != "" {
			mine[of(row.Group.Function, row.Group.Module)] += row.Total.Time / t.Total.Time
			self[of(row.Group.Function, row.Group.Module)] += row.Self.Time / t.Total.Time
		}
	}
	for f, share := range r.perfShare {
		switch {
		case share <= least || f.name == "[unknown]":
		case mine[f] > least:
			r.pairs = append(r.pairs, pair{f, share, mine[f], self[f] > mine[f]/2})
		default:
			r.missing++
		}
	}
	return r.readCosts(heaptap, file)
}

// readCosts reads the costs that the agent measured.
func (r *result) readCosts(heaptap, file string) error {
	var report struct {
		Health struct {
			Alloc float64 `json:"alloc_cost_ns"`
			Free  float64 `json:"free_cost_ns"`
		}
	}
	out, err := exec.Command(heaptap, "report", "--json", "--top", "0", file).Output()
	if err != nil {
		return fmt.Errorf("heaptap report: %w", err)
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return fmt.Errorf("heaptap report: %w", err)
	}
	r.alloc, r.free = report.Health.Alloc, report.Health.Free
	return nil
}
