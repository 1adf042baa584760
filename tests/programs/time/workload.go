package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/tests/programs"
)

// workload is a program to be measured.
type workload struct {
	name, what string
	args       []string
	env        []string
	stdin      string
}

// workloads makes the inputs in dir.
func workloads(dir string, scale float64) ([]workload, error) {
	n := func(full int) int { return max(int(float64(full)*scale), 1) }
	if err := programs.BuildPrograms(dir); err != nil {
		return nil, err
	}
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "loop.py")
	if err := os.WriteFile(script, []byte(programs.PythonJSON(n(60))), 0o666); err != nil {
		return nil, err
	}
	return []workload{
		{name: "sqlite3", what: "in-memory bulk insert, index, group by", args: []string{"sqlite3", ":memory:"}, stdin: programs.SQL(n(800_000))},
		{name: "python3", what: "JSON parse and dump loop, PYTHONMALLOC=malloc", args: []string{"/usr/bin/python3", script},
			env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}},
		{name: "cc1plus", what: "the compiler proper of g++ -O2, a file with <regex>, <map>, <iostream> ...",
			args: cc1plus},
	}, nil
}

// command is the program, perhaps below another one.
func (w *workload) command(under ...string) *exec.Cmd {
	args := append(under, w.args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), w.env...)
	cmd.Stdin = strings.NewReader(w.stdin)
	return cmd
}
