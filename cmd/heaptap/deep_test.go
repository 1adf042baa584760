package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDeepRecursion: a recursion that allocates on its way down has as many call stacks as frames. Commands may take
// twice as long when it is twice as deep, not four times.
func TestDeepRecursion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("leak:nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, n := range []uint32{10_000, 20_000, 40_000} {
		file := filepath.Join(dir, fmt.Sprint(n, ".htap"))
		if err := deepRecording(file, n, n); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	halves, files := files[:2], files[1:] // baselines: what is equal would take less time
	for _, text := range []string{"report", "top --by module --metric own-peak", "tree --up", "leaks --json",
		"leaks --suppressions " + rules,
		"check --max-peak 1 --format junit", "check --max-peak 100G --baseline HALF",
		"export -f callgrind", "export -f firefox",
		"export -f folded", "export -f folded:mallocprofiler", "export -f dhat", "export -f pprof",
		"export -f perfetto"} {
		// Other work on the machine makes a measurement longer, never shorter: the least of up to five counts.
		var took [2]time.Duration
		for try, linear := 0, false; try < 5 && !linear; try++ {
			for i, file := range files {
				one := cpuTime(t, strings.ReplaceAll(text, "HALF", halves[i]), file, filepath.Join(dir, "out"))
				if took[i] == 0 || one < took[i] {
					took[i] = one
				}
			}
			// Garbage collection and everything else that does not depend on the depth take at most half a second.
			linear = took[1] <= 3*took[0]+500*time.Millisecond
			if !linear && try == 4 {
				t.Errorf("%s: %v of CPU at 20,000 frames, %v at 40,000", text, took[0], took[1])
			}
		}
	}
}

// cpuTime returns the CPU time that the command takes for the file; an export writes to out.
func cpuTime(t *testing.T, text, file, out string) time.Duration {
	args := append(strings.Fields(text), file)
	if args[0] == "export" {
		args = append(args, "-o", out)
	}
	cmd := plainCommand(t, args...) // the race detector makes it many times longer
	if printed, err := cmd.CombinedOutput(); err != nil && args[0] != "check" {
		t.Fatalf("%s: %v: %s", text, err, printed)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
