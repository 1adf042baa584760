// Package growth measures how often `heaptap check --no-growth` is wrong: on forty programs that leak, at different
// rates, from different moments, in bursts and at random, and forty that do not, such as caches that fill up, warm-ups,
// pools and periodic work. docs/queries.md states the result.
package growth

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/tests/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// mostWrong is how many of the forty programs of a kind may be judged wrongly.
const mostWrong = 2

// TestRates runs all programs. One that is judged wrongly runs again, twice at most: a busy machine may have held it
// up.
func TestRates(t *testing.T) {
	t.Parallel()
	program := kit.Compile(t, "gcc", "-O1", "-g", "src/shapes.c", "-lm", "-lpthread")
	names := make(map[string][]string) // by kind
	for line := range strings.Lines(kit.Run(t, program)) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[kind] = append(names[kind], name)
	}
	atOnce := make(chan struct{}, 4) // they sleep most of the time; more delay each other
	for kind, list := range names {
		if len(list) != 40 {
			t.Errorf("%d programs of kind %s", len(list), kind)
		}
		wrong := make([]bool, len(list))
		var all sync.WaitGroup
		for i, name := range list {
			all.Go(func() {
				for try := 0; try == 0 || try < 3 && wrong[i]; try++ {
					atOnce <- struct{}{}
					wrong[i] = !right(t, program, kind, name)
					<-atOnce
				}
			})
		}
		all.Wait()
		n := 0
		for i, name := range list {
			if wrong[i] {
				n++
				t.Logf("wrong: %s %s", kind, name)
			}
		}
		t.Logf("%s: %d of %d wrong", kind, n, len(list))
		if n > mostWrong {
			t.Errorf("%d of %d programs of kind %s are judged wrongly", n, len(list), kind)
		}
	}
}

// right runs a program, as a user would, and says whether heaptap is right: it finds that a leaking program keeps
// growing, in the function that leaks, and no other does.
func right(t *testing.T, program, kind, name string) bool {
	dir := t.TempDir()
	out := filepath.Join(dir, "check.json")
	cmd := exec.Command(kit.Binary(t), "run", "-q", "-o", filepath.Join(dir, "run.htap"), "--check", "--no-growth",
		"--format", "json="+out, "--", program, name)
	text, err := cmd.CombinedOutput()
	status := cmd.ProcessState.ExitCode()
	if status != 0 && status != 1 {
		t.Errorf("%s: %v\n%s", name, err, text)
		return false
	}
	if kind == "I" {
		return status == 0
	}
	var result struct {
		Checks []struct {
			Stacks []struct {
				Stack []int
			}
		}
		Frames []answer.Frame
	}
	data, err := os.ReadFile(out)
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, c := range result.Checks {
		for _, s := range c.Stacks {
			if slices.ContainsFunc(s.Stack, func(i int) bool {
				return strings.HasPrefix(result.Frames[i].Function, "leak")
			}) {
				return true
			}
		}
	}
	return false
}
