// Golden compares two builds of heaptap: a change that is not to change what users see leaves all of it the same, byte
// for byte.
//
//	go run ./tests/golden -before OLD -after NEW
//
// It has three parts.
//
//	recordings  OLD records the programs of programs.go, once. Both builds are asked the same about these recordings
//	            (commands.txt, cmd/heaptap/testdata/commands.txt): stdout, stderr, exit status and written files must
//	            be the same.
//	texts       Help, manual pages, completion, and the errors of wrong calls must be the same.
//	programs    Each build records the programs itself, with addresses that do not change from run to run. NEW reads
//	            both recordings: what the program alone decides must be the same, such as its events in their order,
//	            sizes, call stacks and sums.
//
// Differences are printed as diffs, alike ones once. The exit status is 0 if there are none, 1 if there are, 2 if the
// comparison failed. OLD twice (-before OLD -after OLD) must find nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.before, "before", "", "the `binary` before the change")
	flag.StringVar(&o.after, "after", "", "the `binary` after it; default: build this module's")
	flag.StringVar(&o.keep, "keep", "", "work in this `folder`, which must not exist, and keep it")
	flag.StringVar(&o.only, "only", "", "record only the `programs` whose names contain this")
	flag.IntVar(&o.lines, "lines", 40, "print at most this many `lines` of a diff; 0: all")
	flag.IntVar(&o.jobs, "jobs", runtime.GOMAXPROCS(0), "run this many commands at a time")
	flag.Parse()
	differences, err := golden(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(2)
	}
	if differences > 0 {
		os.Exit(1)
	}
}

type options struct {
	before, after string
	keep, only    string
	lines, jobs   int
}

// session is one comparison. dir holds everything that it writes.
type session struct {
	options
	root     string // the module's folder
	programs []program
	commands []string // that read recordings
	texts    []string // commands that read none

	dir           string
	before, after build
	report
}

// build is one of the two builds. Its cache is its own: names that the other has found would hide that it cannot find
// them.
type build struct {
	path  string
	cache string
}

func golden(o options) (differences int, err error) {
	s := &session{options: o}
	if s.root, err = moduleRoot(); err != nil {
		return 0, err
	}
	if s.commands, err = s.lines("cmd/heaptap/testdata/commands.txt", "tests/golden/commands.txt"); err != nil {
		return 0, err
	}
	if s.texts, err = s.lines("tests/golden/texts.txt"); err != nil {
		return 0, err
	}
	for _, p := range programs {
		if strings.Contains(p.name, o.only) {
			s.programs = append(s.programs, p)
		}
	}
	err = s.run()
	if o.keep == "" {
		os.RemoveAll(s.dir)
	}
	s.print(os.Stdout, o.lines)
	return len(s.differences), err
}

// run compares, in a folder that it makes.
func (s *session) run() (err error) {
	if s.options.before == "" {
		return errors.New("-before is needed")
	}
	if s.dir, err = workFolder(s.keep); err != nil {
		return err
	}
	if s.before, err = s.build("before", s.options.before); err != nil {
		return err
	}
	if s.after, err = s.build("after", s.options.after); err != nil {
		return err
	}
	parts := []func() error{s.compareAnswers, s.compareImports, s.compareSpools, s.compareTexts, s.comparePrograms}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/heaptap/heaptap").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func workFolder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "heaptap-golden-")
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}

// build prepares a binary; if path is "", it is made of this module.
func (s *session) build(name, path string) (build, error) {
	b := build{cache: filepath.Join(s.dir, "cache-"+name)}
	if path == "" {
		b.path = filepath.Join(s.dir, "heaptap-"+name)
		cmd := exec.Command("go", "build", "-trimpath", "-o", b.path, "./cmd/heaptap")
		cmd.Dir, cmd.Env = s.root, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("go build: %w\n%s", err, text)
		}
		return b, nil
	}
	var err error
	if b.path, err = filepath.Abs(path); err == nil {
		_, err = exec.LookPath(b.path)
	}
	return b, err
}
