package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
)

// gobench is one line that a Go benchmark printed.
type gobench struct{ pkg, name, values string }

// goBenchmarks runs the benchmarks of the packages that the table of numbers speaks of, each for a moment, on one core.
func goBenchmarks() []gobench {
	var all []gobench
	for _, pkg := range []string{"record", "spill", "ledger", "tally", "recording"} {
		cmd := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchtime", "0.5s", "-cpu", "1",
			"github.com/heaptap/heaptap/internal/"+pkg)
		out, _ := cmd.Output() // a package that cannot be measured has no lines
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
				continue
			}
			var values []string
			for i := 2; i+1 < len(f); i += 2 {
				values = append(values, f[i]+" "+f[i+1])
			}
			all = append(all, gobench{pkg, strings.TrimPrefix(f[0], "Benchmark"), strings.Join(values, ", ")})
		}
	}
	return all
}
