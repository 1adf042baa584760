package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

// workload is something to measure with.
type workload struct {
	name, what string
	args       []string
	env        []string
	stdin      string
	pairs      int  // > 0: synthetic; args are completed by pairs and warm-up
	threads    bool // more than one
	goal       goal
}

// goal is the first column of the project's table of numbers for this workload; 0: none.
type goal struct {
	addedNs float64 // CPU ns per pair over the shim
	ratio   float64 // target's CPU against bare
	bytes   float64 // of the recording, per event
}

// command returns the arguments for a fraction of the work.
func (w *workload) command(part int) []string {
	if w.pairs == 0 {
		return w.args
	}
	n := w.pairs / part
	return append(append([]string(nil), w.args...), fmt.Sprint(n), fmt.Sprint(n/20))
}

// workloads makes the inputs in dir and returns what can be measured on this machine.
func workloads(dir string, scale float64) (all []workload, missing []string, err error) {
	if err := programs.BuildPrograms(dir); err != nil {
		return nil, nil, err
	}
	n := func(full float64) int { return int(full * scale) }
	w := filepath.Join(dir, "w")
	all = []workload{
		{name: "W1", what: "loop, depth 10, window of 8 blocks", args: []string{w, "w1"}, pairs: n(16e6), goal: goal{addedNs: 15, bytes: 1}},
		{name: "depth 60", what: "the same at depth 60, same stack", args: []string{w, "w1d"}, pairs: n(12e6), goal: goal{addedNs: 30}},
		{name: "W2", what: "depth 60, 64 leaf functions, top 5 frames vary", args: []string{w, "w2"}, pairs: n(8e6), goal: goal{addedNs: 55}},
		{name: "W1 on 2 threads", what: "W1 in each of 2 threads", args: []string{w, "w1t2"}, pairs: n(8e6), threads: true},
		{name: "W3", what: "2 producers, 2 consumers on 2 cores", args: []string{w, "w3"}, pairs: n(8e6), threads: true, goal: goal{addedNs: 60, bytes: 3}},
	}
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		missing = append(missing, "cc1plus ("+err.Error()+")")
	} else {
		all = append(all, workload{name: "cc1plus", what: "the compiler proper of `g++ -O2 -c` of a file with <regex>, <map>, <iostream> ...",
			args: cc1plus, goal: goal{ratio: 1.25, bytes: 3}})
	}
	if python, err := exec.LookPath("/usr/bin/python3"); err != nil {
		missing = append(missing, "python3")
	} else {
		// A file: heaptrack's interpreter stumbles over a command line of several lines.
		script := filepath.Join(dir, "loop.py")
		if err := os.WriteFile(script, []byte(programs.PythonJSON(n(60))), 0o644); err != nil {
			return nil, nil, err
		}
		all = append(all, workload{name: "python", what: "PYTHONMALLOC=malloc, JSON parse and dump loop",
			args: []string{python, script}, env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"},
			goal: goal{ratio: 2.3, bytes: 1}})
	}
	if sqlite, err := exec.LookPath("sqlite3"); err != nil {
		missing = append(missing, "sqlite3")
	} else {
		all = append(all, workload{name: "sqlite", what: "in-memory bulk insert, index, group by", args: []string{sqlite, ":memory:"},
			stdin: programs.SQL(n(1e6)), goal: goal{ratio: 1.8}})
	}
	return all, missing, nil
}
