package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

// workload is a program to measure.
type workload struct {
	name, what string
	args       []string
	env        []string
	stdin      string
	pairs      int     // > 0: synthetic; pairs (of each thread) and warm-up are appended to args
	threads    int     // of W1 in several threads
	unit       unit    // the unit of costs
	added      bool    // costs are ns beyond the shim's; else the ratio of CPU to the bare run's
	requests   int     // number of requests that drive sends
	drive      driver  // client that uses the program while it runs
	trace      bool    // the recorder's benchmark runs on a trace of it
	bytes      float64 // goal for the recording's bytes per event; 0: none
}

// unit is the unit of a cost.
type unit int

const (
	perRun unit = iota
	perPair
	perThread // a thread makes pairsPerThread pairs
	perRequest
)

const pairsPerThread = 10 // in the mode "many" of tests/programs/src/w.c

func (w *workload) synthetic() bool { return w.pairs > 0 }

// command returns the arguments for 1/part of the work.
func (w *workload) command(part int) []string {
	if !w.synthetic() {
		return w.args
	}
	n := w.pairs / part
	return append(append([]string(nil), w.args...), fmt.Sprint(n), fmt.Sprint(n/20))
}

// workloads creates the inputs in dir and returns the workloads that this machine can run.
func workloads(dir string, scale float64) (all []workload, missing []string, err error) {
	if err := programs.BuildPrograms(dir); err != nil {
		return nil, nil, err
	}
	n := func(full float64) int { return max(int(full*scale), 1) }
	all = synthetic(filepath.Join(dir, "w"), n)
	heavy, err := programs.Heavy(scale)
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "heavy.cc"), heavy, 0o644); err != nil {
		return nil, nil, err
	}
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		missing = append(missing, "cc1plus ("+err.Error()+")")
	} else {
		all = append(all, workload{name: "cc1plus", what: "the compiler proper of `g++ -O2 -c` of a file with " +
			"<regex>, <map>, <iostream> ...", args: cc1plus, trace: true, bytes: 3})
	}
	if python, err := exec.LookPath("/usr/bin/python3"); err != nil {
		missing = append(missing, "python3")
	} else {
		// In a file, because heaptrack's interpreter cannot parse a command line of several lines.
		script := filepath.Join(dir, "loop.py")
		if err := os.WriteFile(script, []byte(programs.PythonJSON(n(40))), 0o644); err != nil {
			return nil, nil, err
		}
		all = append(all, workload{name: "python", what: "PYTHONMALLOC=malloc, JSON parse and dump loop",
			args: []string{python, script}, env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}, trace: true,
			bytes: 1})
	}
	if sqlite, err := exec.LookPath("sqlite3"); err != nil {
		missing = append(missing, "sqlite3")
	} else {
		all = append(all, workload{name: "sqlite", what: "in-memory bulk insert, index, group by",
			args: []string{sqlite, ":memory:"}, stdin: programs.SQL(n(1e6)), trace: true})
	}
	if perl, err := exec.LookPath("perl"); err != nil {
		missing = append(missing, "perl")
	} else {
		all = append(all, workload{name: "perl", what: "words counted in a hash, sorted and joined",
			args: []string{perl, "-e", fmt.Sprintf(perlWords, n(40))}, env: []string{"PERL_HASH_SEED=0"}, trace: true})
	}
	redis, none := redisWorkload(n(30e3))
	return append(all, redis...), append(missing, none...), nil
}

// perlWords is a program that does the same a number of times.
const perlWords = `for my $round (1..%d) {
	my (%%count, @lines);
	push @lines, join " ", map { "word" . ($_ * 7919 * $round %% 4099) } $_ .. $_ + 20 for 1 .. 1000;
	for my $line (@lines) { $count{$_}++ for split / /, $line }
	my $text = join ",", map { "$_=$count{$_}" } sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %%count;
	print length $text, "\n";
}
`

// synthetic returns the modes of tests/programs/src/w.c as workloads. n scales their sizes.
func synthetic(w string, n func(float64) int) []workload {
	all := []workload{
		{name: "W1", what: "loop, depth 10, window of 8 blocks", args: []string{w, "w1"}, pairs: n(8e6), threads: 1,
			bytes: 1, trace: true},
		{name: "depth 60", what: "the same at depth 60, same stack", args: []string{w, "w1d"}, pairs: n(8e6),
			trace: true},
		{name: "depth 500", what: "the same at depth 500", args: []string{w, "w1d500"}, pairs: n(4e6)},
		{name: "W2", what: "depth 60, 64 leaf functions, top 5 frames vary", args: []string{w, "w2"}, pairs: n(6e6),
			trace: true},
	}
	for _, threads := range []int{2, 4, 8} {
		all = append(all, workload{name: fmt.Sprintf("W1 on %d threads", threads),
			what: fmt.Sprintf("W1 in each of %d threads", threads), args: []string{w, fmt.Sprintf("w1t%d", threads)},
			pairs: max(n(6e6)/threads, 1), threads: threads, trace: threads == 2})
	}
	all = append(all, workload{name: "W3", what: "2 producers, 2 consumers on 2 cores", args: []string{w, "w3"},
		pairs: n(6e6), bytes: 3, trace: true})
	for i := range all {
		all[i].unit, all[i].added = perPair, true
	}
	return append(all, workload{name: "churn",
		what: fmt.Sprintf("threads one after the other, each of %d pairs; per thread", pairsPerThread),
		args: []string{w, "many"}, pairs: n(10e3), unit: perThread, added: true})
}
