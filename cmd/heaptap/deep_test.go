package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A recursion that allocates on its way down has as many call stacks as frames. Twice as deep, it may take twice as
// long, not four times.
func TestDeepRecursion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("leak:nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, n := range []uint32{20_000, 40_000} {
		file := filepath.Join(dir, fmt.Sprint(n, ".htap"))
		if err := deepRecording(file, n, n); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, text := range []string{"report", "top --by module --metric own-peak", "tree --up", "leaks --json",
		"leaks --suppressions " + rules,
		"check --max-peak 1 --format junit", "check --max-peak 100G --baseline " +
			files[0], "export -f callgrind", "export -f firefox",
		"export -f folded", "export -f folded:mallocprofiler", "export -f dhat", "export -f pprof", "export -f perfetto"} {
		var took [2]time.Duration
		for i, file := range files {
			args := append(strings.Fields(text), file)
			if args[0] == "export" {
				args = append(args, "-o", filepath.Join(dir, "out"))
			}
			cmd := command(t, "heaptap", args...)
			out, err := cmd.CombinedOutput()
			if err != nil && args[0] != "check" {
				t.Fatalf("%s: %v: %s", text, err, out)
			}
			took[i] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		// What does not depend on the depth, and garbage collection, make up for half a second at most.
		if took[1] > 3*took[0]+500*time.Millisecond {
			t.Errorf("%s: %v of CPU at 20,000 frames, %v at 40,000", text, took[0], took[1])
		}
	}
}
