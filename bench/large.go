package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs for the section on what recording costs in all, beyond those of the main tables: larger ones, from Debian.

// numpyLoop makes, adds and sorts small arrays, whose data numpy allocates one by one.
const numpyLoop = `import numpy
random = numpy.random.default_rng(1)
total = 0.0
for i in range(%d):
    a = random.random(100 + i %% 400)
    b = numpy.sort(a * 2 + 1)
    total += float((b[::2] - a[::-2][:len(b[::2])]).sum())
print(total)
`

// largePrograms creates the inputs in dir, where workloads has put its own, and returns the programs that this machine
// has. scale scales the inputs.
func largePrograms(dir string, scale float64) (all []workload, missing []string, err error) {
	heavy := filepath.Join(dir, "src", "heavy.cc")
	n := func(full float64) int { return max(int(full*scale), 1) }
	need := func(program, install string) (string, bool) {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian: apt install %s)", program, install))
		}
		return path, err == nil
	}
	if clang, ok := need("clang++", "clang"); ok {
		all = append(all, workload{name: "clang", what: "`clang++ -O1 -c` of the file of cc1plus",
			args: []string{clang, "-O1", "-std=c++17", "-c", heavy, "-o", os.DevNull}})
	}
	python := "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		missing = append(missing, "numpy (Debian: apt install python3-numpy)")
	} else {
		script := filepath.Join(dir, "arrays.py")
		if err := os.WriteFile(script, fmt.Appendf(nil, numpyLoop, n(60e3)), 0o644); err != nil {
			return nil, nil, err
		}
		all = append(all, workload{name: "numpy", what: "python3 with small arrays: make, add, sort",
			args: []string{python, script}, env: []string{"OPENBLAS_NUM_THREADS=1"}})
	}
	if lld, ok := need("ld.lld", "lld"); ok {
		input, err := linkInput(dir, heavy, n(24))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, workload{name: "lld", what: fmt.Sprintf("`ld.lld` of %d object files with debug "+
			"information, without libraries", n(24)), args: append([]string{lld, "-o", os.DevNull}, input...)})
	}
	if tsc, ok := need("tsc", "node-typescript"); ok {
		file := filepath.Join(dir, "types.ts")
		if err := os.WriteFile(file, []byte(typeScript(n(400))), 0o644); err != nil {
			return nil, nil, err
		}
		all = append(all, workload{name: "tsc",
			what: fmt.Sprintf("node with the compiler of TypeScript: check %d classes", n(400)),
			args: []string{tsc, "--noEmit", "--strict", "--target", "es2020", file}})
	}
	return all, missing, nil
}

// linkInput compiles a file, and makes copies of the object file, each with names of its own. It returns a linker's
// arguments, by which no library is missing.
func linkInput(dir, source string, copies int) (args []string, err error) {
	first := filepath.Join(dir, "link.o")
	compile := exec.Command("g++", "-O0", "-g", "-std=c++17", "-c", source, "-o", first)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("g++ -c %s: %w\n%s", source, err, out)
	}
	for i := range copies {
		file := filepath.Join(dir, fmt.Sprintf("link%d.o", i))
		out, err := exec.Command("objcopy", fmt.Sprintf("--prefix-symbols=copy%d_", i), first, file).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("objcopy %s: %w\n%s", first, err, out)
		}
		args = append(args, file, fmt.Sprintf("--defsym=copy%d___dso_handle=0", i)) // it may not be left out
	}
	return append(args, "--unresolved-symbols=ignore-all"), os.Remove(first)
}

// typeScript returns a program of n classes.
func typeScript(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `interface Shape%[1]d<T> { readonly id: T; tags: Map<string, T[]>; next?: Shape%[1]d<T[]>; }
export class Box%[1]d<T extends { size: number }> implements Shape%[1]d<T> {
	tags = new Map<string, T[]>();
	constructor(readonly id: T, private readonly items: T[] = []) {}
	map<U extends { size: number }>(f: (item: T, at: number) => U): Box%[1]d<U> {
		return new Box%[1]d(f(this.id, 0), this.items.map((item, i) => f(item, i + 1)));
	}
	total(): number { return this.items.reduce((sum, { size }) => sum + size, this.id.size); }
}
export const total%[1]d = new Box%[1]d({ size: %[1]d }, [{ size: 1 }])
	.map((x) => ({ ...x, name: "x" + x.size })).total();
`, i)
	}
	return b.String()
}

// tasks are commands of which the whole counts: wall time of many short processes, or the CPU time of one.
type task struct {
	name, what string
	args       []string
	dir        string  // where it runs; "": a fresh folder
	repeats    int     // of the command, for one measurement
	wall       bool    // the goal is for the wall time; else for the CPU time in all
	goal       float64 // against bare
	samples    map[string][]used
}

// smallFiles is the number of files that make compiles.
const smallFiles = 300

// shortTasks creates the inputs in dir and returns the tasks that this machine can do.
func shortTasks(dir string, processors int) (all []*task, missing []string, err error) {
	all = append(all, &task{name: "shell loop", what: "`sh` starts `/bin/true` 200 times",
		args: []string{"sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"}, repeats: 1, wall: true,
		goal: 1.5})
	if _, err := exec.LookPath("make"); err != nil {
		missing = append(missing, "make (Debian: apt install make)")
	} else {
		folder := filepath.Join(dir, "make")
		if err := writeMany(folder, smallFiles, func(i int) (string, string) {
			return fmt.Sprintf("f%d.c", i),
				fmt.Sprintf("#include <stdio.h>\nint f%d(void) { return puts(\"%d\"); }\n", i, i)
		}); err != nil {
			return nil, nil, err
		}
		rules := "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\t@gcc -c -o /dev/null $<\n"
		if err := os.WriteFile(filepath.Join(folder, "Makefile"), []byte(rules), 0o644); err != nil {
			return nil, nil, err
		}
		all = append(all, &task{name: "make", what: fmt.Sprintf("`make -j%d`: `gcc -c` of %d small files", processors,
			smallFiles), args: []string{"make", "-s", fmt.Sprintf("-j%d", processors)}, dir: folder, repeats: 1,
			wall: true, goal: 1.15})
	}
	if _, err := exec.LookPath("git"); err != nil {
		missing = append(missing, "git (Debian: apt install git)")
	} else {
		folder := filepath.Join(dir, "tree")
		if err := writeMany(folder, 2000, func(i int) (string, string) {
			return fmt.Sprintf("d%d/f%d.txt", i%50, i), fmt.Sprintf("%d\n", i)
		}); err != nil {
			return nil, nil, err
		}
		for _, args := range [][]string{{"init", "-q"}, {"add", "."},
			{"-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "files"}, {"status"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, nil, fmt.Errorf("git %s: %w\n%s", args, err, out)
			}
		}
		all = append(all, &task{name: "git status", what: "`git status` among 2,000 files; 10 at a time are measured",
			args: []string{"git", "status"}, dir: folder, repeats: 10, goal: 2})
	}
	return all, missing, nil
}

// writeMany writes n files into a folder.
func writeMany(folder string, n int, file func(i int) (name, text string)) error {
	for i := range n {
		name, text := file(i)
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
