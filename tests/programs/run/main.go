// Command run checks heaptap with the large programs and writes the results as a page of documentation.
//
//	go run ./tests/programs/run [-o docs/test-programs.md] [-scale 1] [-only REGEXP] [-keep] [-heaptap BINARY]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heaptap/heaptap/tests/programs"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "test-programs:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "write the results to this file")
	scale := flag.Float64("scale", 1, "size of the programs' work; 1 is the full size")
	only := flag.String("only", "", "run the cases whose names match this regular expression")
	keep := flag.Bool("keep", false, "keep the working folder")
	heaptap := flag.String("heaptap", "", "an existing heaptap binary; built from this module if not given")
	limit := flag.Duration("timeout", 10*time.Minute, "limit for each case")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "heaptap-programs-")
	if err != nil {
		return err
	}
	if *keep {
		fmt.Println("working folder:", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	kit, err := programs.Build(filepath.Join(dir, "kit"), *heaptap)
	if err != nil {
		return err
	}
	real, missing := kit.Real(*scale)
	var results []*programs.Result
	var bad []string
	for _, c := range append(kit.Known(*scale), real...) {
		if !match.MatchString(c.Name) {
			continue
		}
		fmt.Printf("%-16s ", c.Name)
		one, cancel := context.WithTimeout(ctx, *limit)
		r, err := kit.Run(one, dir, c)
		cancel()
		if err != nil {
			fmt.Printf("FAIL: %v\n", err)
			bad = append(bad, c.Name)
			if r == nil {
				r = &programs.Result{Case: c}
			}
			r.Checks = append(r.Checks, programs.Check{What: "the case ran", Got: strings.SplitN(err.Error(), "\n",
				2)[0], Want: "no error"})
			results = append(results, r)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		results = append(results, r)
		failed := r.Failed()
		fmt.Printf("%d processes, %d of %d checks hold; %.2f s bare, %.2f s recorded\n", len(r.Rows),
			len(r.Checks)-len(failed), len(r.Checks), r.Bare.Seconds(), r.Recorded.Seconds())
		for i, f := range failed {
			if i == 20 {
				fmt.Printf("    ... and %d more\n", len(failed)-i)
				break
			}
			fmt.Printf("    %s: %s, want %s\n", f.What, f.Got, f.Want)
		}
		if len(failed) > 0 {
			bad = append(bad, c.Name)
			if s := strings.TrimSpace(r.Stderr); s != "" {
				fmt.Printf("    stderr: %s\n", strings.ReplaceAll(s, "\n", "\n            "))
			}
		}
		if !*keep {
			os.RemoveAll(filepath.Join(dir, strings.ReplaceAll(c.Name, " ", "-")))
		}
	}
	for _, m := range missing {
		fmt.Printf("%-16s not installed: not judged\n", m)
	}
	if *out != "" {
		if err := os.WriteFile(*out, []byte(programs.Page(results, missing)), 0o644); err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("not equal: %s", strings.Join(bad, ", "))
	}
	return nil
}
