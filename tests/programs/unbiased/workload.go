package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/tests/programs"
)

// workload is a program to record.
type workload struct {
	programs.Workload
	mean uint64 // mean bytes from one sample to the next: small enough that many call stacks have samples
}

// workloads builds the programs and creates their inputs in dir.
func workloads(dir string) ([]workload, error) {
	src := filepath.Join(dir, "src")
	if err := os.Mkdir(src, 0o777); err != nil {
		return nil, err
	}
	file, err := programs.Heavy(0)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(src, "heavy.cc"), file, 0o666); err != nil {
		return nil, err
	}
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		return nil, err
	}
	threads := filepath.Join(dir, "sites")
	if out, err := exec.Command("gcc", "-O1", "-g", "-pthread", "-o", threads,
		"tests/sampled/src/sites.c").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w\n%s", err, out)
	}
	python, err := programs.PythonLoop(dir, 3)
	if err != nil {
		return nil, err
	}
	return []workload{
		{programs.Workload{Name: "cc1plus", What: "the compiler proper of g++ -O2, a file with <map>", Args: cc1plus},
			4 << 10},
		{python, 4 << 10},
		{programs.Workload{Name: "sqlite3", What: "in-memory tables, 900 statements of six kinds",
			Args: []string{"sqlite3", ":memory:"}, Stdin: statements(150)}, 1 << 10},
		{programs.Workload{Name: "threads", What: "tests/sampled/src/sites.c: four threads, seven ways to allocate, " +
			"a signal handler", Args: []string{threads, "1000"}}, 64 << 10},
	}, nil
}

// statements returns n statements of each of six kinds, so that SQLite allocates in many ways.
func statements(n int) string {
	var b strings.Builder
	b.WriteString(programs.SQL(2000))
	for i := range n {
		fmt.Fprintf(&b, "SELECT grp, sum(val), min(name), group_concat(id) FROM t WHERE id < %d GROUP BY grp ORDER "+
			"BY grp LIMIT 3;\n", 2*i)
		fmt.Fprintf(&b, "SELECT upper(name), replace(name, '-', '%d') FROM t WHERE name LIKE '%%%d%%' ORDER BY val "+
			"DESC LIMIT 3;\n", i, i)
		fmt.Fprintf(&b, "SELECT a.id, b.name FROM t a JOIN t b ON a.id = b.grp WHERE a.id = %d LIMIT 3;\n", i)
		b.WriteString("SELECT json_group_array(json_object('a', id, 'b', name)) FROM t WHERE id < 20;\n")
		fmt.Fprintf(&b, "CREATE TABLE u%d(a TEXT, b); INSERT INTO u%d VALUES ('x', %d), (zeroblob(200), 'y'); DROP "+
			"TABLE u%d;\n", i, i, i, i)
		b.WriteString("SELECT sum(val) OVER (PARTITION BY grp ORDER BY id) FROM t WHERE id < 30;\n")
	}
	return b.String()
}

// recorder records a workload.
type recorder struct {
	dir, heaptap string
	*workload
}

// record runs the program once, without address space randomization, because all that depends on addresses (such as the
// order of a hash table of pointers) must be the same in all runs. It returns the path of the recording, which is valid
// until the next call.
func (r *recorder) record(flags ...string) (string, error) {
	file := filepath.Join(r.dir, "recording.htap")
	under := append([]string{"setarch", "-R", r.heaptap, "run", "-q", "-o", file}, flags...)
	if out, err := r.Command(under...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("heaptap run: %w\n%s", err, out)
	}
	return file, nil
}
