package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// program is one that is recorded.
type program struct {
	name   string
	source string   // below tests/
	cc     []string // more flags for the compiler
	flags  []string // of heaptap run
	args   []string // instead of the compiled program: a command; else its arguments
	tool   bool     // args is a command that is installed

	// Where threads or time decide what is recorded, only these sums do not change: those below the functions that
	// match. "-" : nothing.
	sums string
}

var programs = []program{
	{name: "every", source: "programs/src/every.cc", flags: []string{"--free-stacks", "--addresses"}},
	{name: "copies", source: "corpus/src/copies.cc"},
	{name: "stripped", source: "corpus/src/copies.cc", cc: []string{"-s"},
		flags: []string{"--stack-min", "32", "--max-depth", "4"}},
	{name: "regions", source: "api/src/regions.cc", flags: []string{"--monitor", "summary"}},
	{name: "wrong", source: "golden/src/wrong.cc", flags: []string{"--free-stacks"}},
	{name: "deep", source: "stacks/src/deep.c", cc: []string{"-DSIZE=24", "-DROOM=0"}, args: []string{"1500"}},
	{name: "realloc", source: "corpus/src/steps.c", flags: []string{"--addresses"}},
	{name: "mappings", source: "corpus/src/mappings.c"},
	{name: "threadlocal", source: "corpus/src/threadlocal.c"},
	{name: "aborted", source: "programs/src/die.c", args: []string{"abort", "2000"}},
	{name: "killed", source: "programs/src/die.c", args: []string{"kill", "2000"}},
	{name: "forks", source: "programs/src/forks.c", args: []string{"1"}, sums: "child_site"},
	{name: "threads", source: "programs/src/w.c", args: []string{"w3", "5000"}, sums: "thread_main"},
	{name: "sampled", source: "programs/src/w.c", args: []string{"w1d", "20000"},
		flags: []string{"--mode", "sampled", "--sample", "4KiB"}, sums: "-"},
	{name: "counted", source: "programs/src/w.c", args: []string{"w2", "5000"},
		flags: []string{"--mode", "count", "--time-calls"}},
	{name: "folded", source: "golden/src/slow.c", flags: []string{"--keep", "50ms", "--mark-every", "50ms"}, sums: "-"},
	{name: "sqlite", tool: true, args: []string{"sqlite3", ":memory:",
		"create table t(a,b); insert into t values(1,2),(3,4); select sum(a) from t;"}},
}

// compile builds all programs into a folder.
func (s *session) compile() error {
	if err := os.MkdirAll(s.path("bin"), 0o755); err != nil {
		return err
	}
	for _, p := range s.programs {
		if p.tool {
			if _, err := exec.LookPath(p.args[0]); err != nil {
				return fmt.Errorf("%w; tools/setup.sh test installs it", err)
			}
			continue
		}
		compiler, standard := "gcc", "-std=gnu11"
		if filepath.Ext(p.source) == ".cc" {
			compiler, standard = "g++", "-std=c++17"
		}
		args := append([]string{standard, "-O2", "-g", "-w", "-pthread", "-fno-builtin",
			"-I", filepath.Join(s.root, "include"), "-o", s.path("bin", p.name),
			filepath.Join(s.root, "tests", p.source), "-ldl"}, p.cc...)
		if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.source, err, text)
		}
	}
	return nil
}

// command is what heaptap run is to run.
func (s *session) command(p program) []string {
	if p.tool {
		return p.args
	}
	return append([]string{s.path("bin", p.name)}, p.args...)
}

// record records a program into a folder, in which it runs: NAME.htap, and NAME.PROGRAM.htap and so on for its
// children.
func (s *session) record(b build, p program, dir string) (output, error) {
	command := s.command(p)
	args := append([]string{"setarch", "-R", b.path, "run", "-o", p.name + ".%n.htap"}, p.flags...)
	out, err := execute(dir, b.environment(), append(append(args, "--"), command...))
	if err == nil {
		err = os.Rename(filepath.Join(dir, p.name+"."+filepath.Base(command[0])+".htap"),
			filepath.Join(dir, p.name+".htap"))
	}
	return out, err
}

func (s *session) path(elements ...string) string {
	return filepath.Join(append([]string{s.dir}, elements...)...)
}
