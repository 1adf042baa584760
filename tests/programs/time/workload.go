package main

import "github.com/heaptap/heaptap/tests/programs"

// workloads creates the inputs in dir and returns the workloads.
func workloads(dir string, scale float64) ([]programs.Workload, error) {
	n := func(full int) int { return max(int(float64(full)*scale), 1) }
	if err := programs.BuildPrograms(dir); err != nil {
		return nil, err
	}
	cc1plus, err := programs.Compiler(dir)
	if err != nil {
		return nil, err
	}
	python, err := programs.PythonLoop(dir, n(60))
	if err != nil {
		return nil, err
	}
	return []programs.Workload{
		{Name: "sqlite3", What: "in-memory bulk insert, index, group by", Args: []string{"sqlite3", ":memory:"},
			Stdin: programs.SQL(n(800_000))},
		python,
		{Name: "cc1plus", What: "the compiler proper of g++ -O2, a file with <regex>, <map>, <iostream> ...",
			Args: cc1plus},
	}, nil
}
