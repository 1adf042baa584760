package stacks

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
)

// The size of the blocks that src/deep.c allocates, one in each frame.
const deepSize = 21

// TestDeep records recursion that allocates on its way down. Twice the frames must cost about twice the CPU time, not
// four times as much, and every stack must be one frame deeper than the one before, or as deep as --max-depth says.
func TestDeep(t *testing.T) {
	for _, c := range []struct {
		name     string
		flags    []string
		maxDepth int
		room     int // bytes of a frame
	}{
		{"whole stacks", nil, 0, 0},
		{"--max-depth", []string{"--max-depth", "64"}, 64, 0},
		// The kernel provides a page for every fourth frame.
		{"large frames", nil, 0, 960},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "deep")
			kit.Run(t, "gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fno-optimize-sibling-calls",
				fmt.Sprintf("-DSIZE=%d", deepSize), fmt.Sprintf("-DROOM=%d",
					c.room), "src/deep.c", "-o", program, "-pthread")
			once, twice := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			// On a busy machine even CPU time varies: the least of some tries counts.
			for try := 0; try == 0 || try < 4 && twice > 3*once; try++ {
				once = min(once, recordDeep(t, program, 100_000, c.flags, c.maxDepth))
				twice = min(twice, recordDeep(t, program, 200_000, c.flags, c.maxDepth))
			}
			t.Logf("CPU time of 100,000 frames: %v, of 200,000: %v", once, twice)
			if twice > 3*once {
				t.Errorf("200,000 frames take %v, 100,000 take %v: want less than 3 times as much", twice, once)
			}
		})
	}
}

// recordDeep returns the target's CPU time.
func recordDeep(t *testing.T, program string, frames int, flags []string, maxDepth int) time.Duration {
	t.Helper()
	stdout, r := recordWith(t, t.TempDir(), nil, flags, program, fmt.Sprint(frames))
	var micros int64
	if _, err := fmt.Fscan(bytes.NewReader(stdout), &micros); err != nil {
		t.Fatalf("the program said %q: %v", stdout, err)
	}
	checkDepths(t, r, frames, maxDepth)
	return time.Duration(micros) * time.Microsecond
}

func checkDepths(t *testing.T, r *recording.Reader, frames, maxDepth int) {
	t.Helper()
	depths := map[uint32]int{0: 0} // by stack
	events, first, wrong := 0, 0, 0
	err := r.Events(func(e *event.Event) bool {
		if e.Kind != event.Alloc || e.Size != deepSize {
			return true
		}
		depth := 0
		if maxDepth > 0 {
			path, _, err := pathOf(r, e.Stack)
			if err != nil {
				t.Fatal(err)
			}
			depth = len(path)
		} else {
			depth = depthOf(t, r, depths, e.Stack)
		}
		if events == 0 {
			first = depth
		}
		want := first + events
		if maxDepth > 0 {
			want = min(want, maxDepth+1) // and one that stands for the others
		}
		if depth != want {
			if wrong++; wrong < 4 {
				t.Errorf("stack %d has %d frames, want %d", events, depth, want)
			}
		}
		events++
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if events != frames || wrong > 0 {
		t.Errorf("%d events, %d of them with a wrong stack; want %d", events, wrong, frames)
	}
}

// depthOf returns the number of a stack's frames; known holds those of stacks that were asked for.
func depthOf(t *testing.T, r *recording.Reader, known map[uint32]int, stack uint32) int {
	t.Helper()
	var path []uint32
	id := stack
	for {
		if _, ok := known[id]; ok {
			break
		}
		node, ok := r.Nodes().Get(id)
		if !ok || node.Truncated {
			t.Fatalf("stack %d: node %d is there: %v, and truncated: %v", stack, id, ok, node.Truncated)
		}
		path = append(path, id)
		id = node.Parent
	}
	depth := known[id]
	for i := len(path) - 1; i >= 0; i-- {
		depth++
		known[path[i]] = depth
	}
	return depth
}
