package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

// subject is a recording that the benchmark makes itself.
type subject struct {
	name, what string
	make       func(b *bench, file string) error
}

// shortProcesses is how many processes the recorded run of short ones has, beside the shell that starts them.
const shortProcesses = 1000

// subjects are what the web app is asked about, in the order in which they are made: the largest, which takes
// minutes, last.
var subjects = []subject{
	{"P", "python3 with many modules of its library (bench/src/wide.py)", (*bench).recordWide},
	{"cc1plus", "the compiler proper of `g++ -O2 -c` of a file with <regex>, <map>, <iostream> ...",
		(*bench).recordCompiler},
	{"1e6", "the python workload", recordsLoop(1e6)},
	{"1e7", "the same for longer", recordsLoop(1e7)},
	{"1e8", "the same for longer", recordsLoop(1e8)},
	{"1000", "a shell that runs `ls -l /` a thousand times", (*bench).recordProcesses},
	{"1e9", "the same for longer", recordsLoop(1e9)},
}

// recordings returns the file of each of subjects in a folder, and makes those that are not there.
func (b *bench) recordings(folder string) (files map[string]string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	files = map[string]string{}
	for _, m := range subjects {
		file := filepath.Join(folder, m.name+".htap")
		files[m.name] = file
		if _, err := os.Stat(file); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "recording %s: %s\n", file, m.what)
		// The last step names it, so that an interrupted one is not taken for a whole one.
		unfinished := filepath.Join(folder, "unfinished.htap")
		if err := os.RemoveAll(unfinished); err != nil {
			return nil, err
		}
		if err := m.make(b, unfinished); err != nil {
			return nil, err
		}
		if err := os.Rename(unfinished, file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// record records a program into file.
func (b *bench) record(file string, program ...string) error {
	cmd := exec.Command(b.heaptap, append([]string{"run", "-q", "-o", file}, program...)...)
	cmd.Env = append(os.Environ(), "PYTHONMALLOC=malloc", "PYTHONHASHSEED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("recording %s: %w\n%s", program, err, out)
	}
	return nil
}

// recordLoop records the python workload, for about that many events.
func (b *bench) recordLoop(events float64, file string) error {
	const start, perRound = 250e3, 323e3 // events before the loop, and of one round of it
	rounds := int(max(0, events-start)/perRound) + 1
	script := filepath.Join(b.dir, "loop.py")
	if err := os.WriteFile(script, []byte(programs.PythonJSON(rounds)), 0o644); err != nil {
		return err
	}
	return b.record(file, "/usr/bin/python3", script)
}

func recordsLoop(events float64) func(b *bench, file string) error {
	return func(b *bench, file string) error { return b.recordLoop(events, file) }
}

// recordWide records wide.py.
func (b *bench) recordWide(file string) error {
	text, err := sources.ReadFile("src/wide.py")
	if err != nil {
		return err
	}
	script := filepath.Join(b.dir, "wide.py")
	if err := os.WriteFile(script, text, 0o644); err != nil {
		return err
	}
	return b.record(file, "/usr/bin/python3", "-B", script) // -B: leaves no files that would make the next run another
}

// recordCompiler records the compilation of heavy.cc.
func (b *bench) recordCompiler(file string) error {
	if err := programs.BuildPrograms(b.dir); err != nil {
		return err
	}
	cc1plus, err := programs.Compiler(b.dir)
	if err != nil {
		return err
	}
	return b.record(file, cc1plus...)
}

// recordProcesses records a run of many short processes.
func (b *bench) recordProcesses(file string) error {
	return b.record(file, "/bin/sh", "-c",
		fmt.Sprintf("i=0; while [ $i -lt %d ]; do ls -l / >/dev/null; i=$((i+1)); done", shortProcesses))
}
