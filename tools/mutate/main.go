// Command mutate plants faults and reports which tests find them.
//
// It copies the working tree into a temporary folder and takes the faults of faults.txt one at a time: it changes the
// text of one file, builds, runs the tests of that part until one fails, and restores the file. A fault that no test
// finds has survived: a test is missing. Before the first fault of a section, its tests must pass.
//
//	go run ./tools/mutate [-only REGEXP] [-table FILE] [-root DIR] [-limit DURATION] [-trust]
//
// The exit status is 1 unless every fault was found. A fault whose text is no longer in its file exactly once is
// reported, too: code has moved, and the table must follow.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "take only faults whose file or title match this regular expression")
	table := flag.String("table", "tools/mutate/faults.txt", "the file of faults")
	root := flag.String("root", ".", "the repository to copy")
	limit := flag.Duration("limit", 10*time.Minute, "the time limit of each command")
	trust := flag.Bool("trust", false, "do not run the tests without a fault first")
	flag.Parse()
	if err := run(*table, *root, *only, *limit, *trust); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(table, root, only string, limit time.Duration, trust bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	sections, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	dir, err := copyTree(root)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree := tree{dir: dir, limit: limit}
	all, missed := 0, []string(nil)
	for _, s := range sections {
		faults := s.matching(match)
		if len(faults) == 0 {
			continue
		}
		if trust {
			// They pass.
		} else if r := tree.try(s.build, s.tests); r.verdict != survived {
			return fmt.Errorf("%s: without any fault: %s %s\n%s", s.name, r.verdict, r.by, r.output)
		}
		for _, f := range faults {
			r := tree.plant(s, f)
			all++
			fmt.Printf("%-15s %5.0f s  %s: %s  %s\n", r.verdict, r.took.Seconds(), f.file, f.title, r.by)
			if r.verdict != found {
				missed = append(missed, fmt.Sprintf("%s: %s: %s", r.verdict, f.file, f.title))
			}
		}
	}
	fmt.Printf("%d faults, %d found\n", all, all-len(missed))
	if len(missed) > 0 {
		return errors.New("not found:\n  " + strings.Join(missed, "\n  "))
	}
	return nil
}

// verdict says what became of a fault.
type verdict string

const (
	found    verdict = "found"
	survived verdict = "SURVIVED"
	tooLong  verdict = "took too long" // it hangs, or the machine is too busy to say
	noBuild  verdict = "does not build"
	noText   verdict = "text not found"
)

// result is the verdict on a fault.
type result struct {
	verdict
	by     string // the test that found it
	output string // of the command that failed
	took   time.Duration
}

// plant plants a fault, tries it, and removes it.
func (t tree) plant(s section, f fault) result {
	name := filepath.Join(t.dir, f.file)
	before, err := os.ReadFile(name)
	if err != nil {
		return result{verdict: noText, by: err.Error()}
	}
	if n := strings.Count(string(before), f.old); n != 1 {
		return result{verdict: noText, by: fmt.Sprintf("(it is there %d times)", n)}
	}
	after := strings.Replace(string(before), f.old, f.new, 1)
	if err := os.WriteFile(name, []byte(after), 0o644); err != nil {
		return result{verdict: noBuild, by: err.Error()}
	}
	defer os.WriteFile(name, before, 0o644)
	return t.try(s.build, append(f.tests, s.tests...))
}
