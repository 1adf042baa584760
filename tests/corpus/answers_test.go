package corpus

import (
	"regexp"
	"slices"
	"strings"
)

// values are a command's numbers, by metric.
type values map[string]uint64

func (v values) add(o values) {
	for metric, n := range o {
		v[metric] += n
	}
}

// frame is one function on a call stack, or what rows are grouped by.
type frame struct {
	Function, Module string
}

// is reports whether a frame is a function of the program. C++ names have their parameters.
func (f *frame) is(p *program, function string) bool {
	name, _, _ := strings.Cut(f.Function, "(")
	return f.Module == p.path && name == function
}

func has(p *program, stack []frame, function string) bool {
	return slices.ContainsFunc(stack, func(f frame) bool { return f.is(p, function) })
}

// pattern is a regular expression that matches the function alone.
func pattern(function string) string { return "^" + regexp.QuoteMeta(function) + `(\(|$)` }

// question asks one command about a function. What it returns is compared with the facts, as far as it has them.
type question struct {
	command string
	ask     func(r *run, function string) values
}

var metrics = []string{"allocations", "bytes", "deallocations", "freed", "live", "live-blocks", "peak", "peak-blocks",
	"own-peak", "leaked",
	"leaked-blocks", "temporary", "temporary-bytes", "min-size", "max-size", "mean-size", "reallocations", "copied"}

// summing are those that sum up over disjoint stacks.
var summing = slices.DeleteFunc(slices.Clone(metrics),
	func(m string) bool { return m == "own-peak" || strings.HasSuffix(m, "-size") })

var questions = []question{
	{"top", askTop}, {"tree", askTree}, {"tree --up", askTreeUp}, {"tree --of", askTreeOf}, {"report",
		askReport}, {"leaks", askLeaks},
	{"threads", askThreads}, {"hist", askHist}, {"timeline", askTimeline}, {"dump", askDump},
}

type row struct {
	Group       *group
	Self, Total values
}

type group struct {
	frame
	Stack []int // indexes into the answer's frames
}

func askTop(r *run, function string) values {
	out := values{}
	// Twice: from the run's statistics where they suffice, and from every event.
	for _, list := range [][]string{{"allocations", "bytes", "deallocations", "freed", "live", "peak", "leaked",
		"leaked-blocks", "temporary"}, metrics} {
		var t struct{ Rows []row }
		r.json(&t, "top", "--limit", "0", "--metric", strings.Join(list, ","))
		for _, row := range t.Rows {
			if !row.Group.is(r.program, function) {
				continue
			}
			for metric, n := range row.Total {
				if before, ok := out[metric]; ok && before != n {
					r.t.Errorf("top: %s of %s is %d and %d", metric, function, before, n)
				}
				out[metric] = n
			}
			out["self-allocations"], out["self-bytes"] = row.Self["allocations"], row.Self["bytes"]
		}
	}
	return out
}

type node struct {
	row
	Parent int
}

// askTree sums up the outermost nodes of the function.
func askTree(r *run, function string) values {
	out := values{}
	var t struct{ Nodes []node }
	r.json(&t, "tree", "--threshold", "0", "--metric", strings.Join(summing, ","))
	within := make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		if n.Parent >= 0 && within[n.Parent] {
			within[i] = true
		} else if n.Group != nil && n.Group.is(r.program, function) {
			within[i] = true
			out.add(n.Total)
		}
	}
	return out
}

// askTreeUp finds what the function allocated itself: on the first level.
func askTreeUp(r *run, function string) values {
	out := values{"self-allocations": 0, "self-bytes": 0}
	var t struct{ Nodes []node }
	r.json(&t, "tree", "--up", "--depth", "1", "--threshold", "0", "--metric", "allocations,bytes")
	for _, n := range t.Nodes {
		if n.Group != nil && n.Group.is(r.program, function) {
			out["self-allocations"] += n.Total["allocations"]
			out["self-bytes"] += n.Total["bytes"]
		}
	}
	return out
}

func askTreeOf(r *run, function string) values {
	var t struct{ Self, Totals values }
	r.json(&t, "tree", "--of", pattern(function), "--threshold", "0", "--metric", strings.Join(metrics, ","))
	t.Totals["self-allocations"], t.Totals["self-bytes"] = t.Self["allocations"], t.Self["bytes"]
	return t.Totals
}

func askReport(r *run, function string) values {
	out := values{}
	for _, s := range r.report().Stacks {
		if has(r.program, s.Frames, function) {
			out.add(values{"allocations": s.Allocations, "bytes": s.Bytes, "deallocations": s.Deallocations,
				"freed": s.Freed, "peak": s.PeakBytes, "peak-blocks": s.PeakBlocks,
				"leaked": s.LeakedBytes, "leaked-blocks": s.LeakedBlocks,
				"temporary": s.Temporary, "temporary-bytes": s.TemporaryBytes,
				"reallocations": s.Reallocations, "in-place": s.InPlace})
		}
	}
	return out
}

func askLeaks(r *run, function string) values {
	out := values{"leaked": 0, "leaked-blocks": 0}
	var t struct {
		Rows   []row
		Frames frameTable
	}
	r.json(&t, "leaks", "--limit", "0")
	for _, row := range t.Rows {
		if has(r.program, t.Frames.of(row.Group.Stack), function) {
			out["leaked"] += row.Total["leaked"]
			out["leaked-blocks"] += row.Total["leaked-blocks"]
		}
	}
	return out
}

// askThreads sums up by thread and by function called, which must be the same.
func askThreads(r *run, function string) values {
	threads, calls := values{}, values{}
	var t struct {
		Rows, Calls []row
		Matrix      []struct{ Blocks, Bytes uint64 }
	}
	r.json(&t, "threads", "--focus", pattern(function), "--limit", "0")
	for _, row := range t.Rows {
		threads.add(row.Total)
	}
	for _, row := range t.Calls {
		calls.add(row.Total)
	}
	for _, metric := range []string{"allocations", "bytes", "live", "temporary"} {
		if threads[metric] != calls[metric] {
			r.t.Errorf("threads: %s of %s: %d by thread, %d by function", metric, function, threads[metric],
				calls[metric])
		}
	}
	if len(t.Rows) != 1 {
		delete(threads, "own-peak")
	}
	threads["deallocations"], threads["freed"] = 0, 0
	for _, c := range t.Matrix {
		threads["deallocations"] += c.Blocks
		threads["freed"] += c.Bytes
	}
	return threads
}

func askHist(r *run, function string) values {
	type bar struct{ Count, Bytes uint64 }
	var t struct {
		Sizes     []bar
		Exact     []struct{ Size, Count uint64 }
		Lifetimes []bar `json:"lifetimes_ns"`
		Never     bar   `json:"never_freed"`
	}
	r.json(&t, "hist", "--focus", pattern(function), "--limit", "0")
	out := values{"leaked-blocks": t.Never.Count, "leaked": t.Never.Bytes, "allocations": 0, "bytes": 0,
		"deallocations": 0, "freed": 0}
	for _, b := range t.Sizes {
		out["allocations"] += b.Count
		out["bytes"] += b.Bytes
	}
	for _, b := range t.Lifetimes {
		out["deallocations"] += b.Count
		out["freed"] += b.Bytes
	}
	exact := values{}
	for i, e := range t.Exact {
		exact["allocations"] += e.Count
		exact["bytes"] += e.Count * e.Size
		if i == 0 || e.Size < out["min-size"] {
			out["min-size"] = e.Size
		}
		out["max-size"] = max(out["max-size"], e.Size)
	}
	for metric, n := range exact {
		if out[metric] != n {
			r.t.Errorf("hist: %s of %s: %d by size, %d by powers of two", metric, function, n, out[metric])
		}
	}
	return out
}

func askTimeline(r *run, function string) values {
	out := values{"allocations": 0, "bytes": 0, "deallocations": 0, "own-peak": 0}
	var t struct {
		Most []uint64 `json:"most_live_bytes"`
		All  struct {
			Live                              []uint64 `json:"live_bytes"`
			Blocks                            []uint64 `json:"live_blocks"`
			Allocations, Bytes, Deallocations []uint64
		}
	}
	r.json(&t, "timeline", "--focus", pattern(function), "--steps", "37")
	for i := range t.All.Live {
		out["allocations"] += t.All.Allocations[i]
		out["bytes"] += t.All.Bytes[i]
		out["deallocations"] += t.All.Deallocations[i]
		out["own-peak"] = max(out["own-peak"], t.Most[i])
	}
	last := len(t.All.Live) - 1
	out["leaked"], out["leaked-blocks"] = t.All.Live[last], t.All.Blocks[last]
	return out
}

// askDump counts the events one by one.
func askDump(r *run, function string) values {
	out := values{"allocations": 0, "bytes": 0, "deallocations": 0, "freed": 0, "temporary": 0, "own-peak": 0,
		"reallocations": 0}
	var live, blocks uint64
	for _, e := range r.events() {
		if !has(r.program, r.stack(e.Stack), function) {
			continue
		}
		switch e.Kind {
		case "alloc":
			out["allocations"]++
			out["bytes"] += e.Size
			live += e.Size
			blocks++
			if e.Realloc {
				out["reallocations"]++
			}
			if e.InPlace {
				out["in-place"]++
			}
			if out["max-size"] = max(out["max-size"], e.Size); out["allocations"] == 1 || e.Size < out["min-size"] {
				out["min-size"] = e.Size
			}
		case "free":
			out["deallocations"]++
			out["freed"] += e.Size
			live -= e.Size
			blocks--
			if e.Temporary {
				out["temporary"]++
				out["temporary-bytes"] += e.Size
			}
		}
		out["own-peak"] = max(out["own-peak"], live)
	}
	out["leaked"], out["leaked-blocks"] = live, blocks
	return out
}
