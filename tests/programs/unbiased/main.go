// Command unbiased checks sampled mode on real programs, and writes the results as a page of documentation.
//
//	go run ./tests/programs/unbiased [-o docs/sampling.md] [-runs 100] [-only REGEXP] [-heaptap BINARY]
//
// Each program runs a few times in exact mode, which gives the true values of each call stack, and many times in
// sampled mode. The estimates of these runs and their reported standard errors, taken together, are compared with the
// truth.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"github.com/heaptap/heaptap/tests/programs"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "unbiased:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "write the results to this file")
	runs := flag.Int("runs", 100, "runs of each program in sampled mode")
	exact := flag.Int("exact", 5, "runs of each program in exact mode")
	only := flag.String("only", "", "judge the programs whose names match this regular expression")
	heaptap := flag.String("heaptap", "", "an existing heaptap binary; built from this module if not given")
	flag.Parse()
	if *runs < 1 || *exact < 2 {
		return fmt.Errorf("-runs must be at least 1, -exact at least 2, so that it shows by how much exact runs differ")
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "heaptap-unbiased-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := programs.BuildHeaptap(dir, *heaptap)
	if err != nil {
		return err
	}
	list, err := workloads(dir)
	if err != nil {
		return err
	}
	var results []*result
	var bad []string
	for i := range list {
		if !match.MatchString(list[i].Name) {
			continue
		}
		r, err := judge(ctx, &recorder{dir, binary, &list[i]}, *exact, *runs)
		if err != nil {
			return fmt.Errorf("%s: %w", list[i].Name, err)
		}
		for _, m := range r.metrics {
			m.print(r.Name)
			if math.Abs(m.off()) > farthest {
				bad = append(bad, r.Name+" "+m.name)
			}
		}
		results = append(results, r)
	}
	for _, m := range pooled(results) {
		m.print("all")
		if !m.holds() {
			bad = append(bad, "all "+m.name)
		}
	}
	if *out != "" {
		if err := os.WriteFile(*out, []byte(page(results, *exact, *runs)), 0o644); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("does not hold: %s", strings.Join(bad, ", "))
	}
	return nil
}

func (m *metric) print(program string) {
	fmt.Printf("%-8s %-11s %4d call stacks, %+.2f standard errors off, %.1f %% of %d intervals cover\n", program,
		m.name, m.stacks, m.off(), 100*m.covered(), m.intervals)
}
