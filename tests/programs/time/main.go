// Command time compares heaptap's metric time with what a sampling profiler says, and writes the results as a page of
// documentation.
//
//	go run ./tests/programs/time [-o docs/time.md] [-scale 1] [-heaptap BINARY]
//
// Each program runs under `perf record -e cpu-clock` without heaptap, and under `heaptap run`. The comparison is about
// how both rank the functions that have more than a hundredth of the whole in both: perf by the samples in which a
// function is on the stack, heaptap by the function's total of the metric time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "time:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "write the results to this file")
	scale := flag.Float64("scale", 1, "size of the programs' work; 1 is the full size")
	heaptap := flag.String("heaptap", "", "an existing heaptap binary; built from this module if not given")
	flag.Parse()
	if _, err := exec.LookPath("perf"); err != nil {
		return fmt.Errorf("%w: it is in Debian's package linux-perf", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "heaptap-time-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := programs.BuildHeaptap(dir, *heaptap)
	if err != nil {
		return err
	}
	list, err := workloads(dir, *scale)
	if err != nil {
		return err
	}
	var results []*result
	for i := range list {
		r, err := compare(ctx, dir, binary, &list[i])
		if err != nil {
			return fmt.Errorf("%s: %w", list[i].Name, err)
		}
		fmt.Printf("%-8s %3d functions, Spearman %.3f, Kendall %.3f\n", r.Name, len(r.pairs), spearman(r.pairs),
			kendall(r.pairs))
		results = append(results, r)
	}
	if *out == "" {
		fmt.Print(page(results))
		return nil
	}
	return os.WriteFile(filepath.Clean(*out), []byte(page(results)), 0o666)
}
