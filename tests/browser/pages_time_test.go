package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// print runs a command as the page says it, in a shell, with --json.
func (c commands) print(t *testing.T, line string) []byte {
	t.Helper()
	cmd := exec.Command("bash", "-c", line+" --json")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kit.Binary(t))+":"+os.Getenv("PATH"))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	// What is damaged is reported, and the rest is printed.
	if err != nil && len(out) == 0 && !strings.Contains(problems.String(), "damage") {
		t.Fatalf("%s: %v\n%s", line, err, problems.String())
	}
	return out
}

// layers is how live bytes developed, as the command prints it.
type layers struct {
	Events    []uint64
	All, Rest layer
	Rows      []layer
}

type layer struct {
	Live []uint64 `json:"live_bytes"`
}

// logged is an event or a mark of a dump.
type logged struct {
	Event      *uint64
	Kind, Mark string
	Time       int64 `json:"time_ns"`
	Size       uint64
}

// dump reads lines of JSON.
func (c commands) dump(t *testing.T, line string) (list []logged) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(c.print(t, line)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e logged
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		list = append(list, e)
	}
	return list
}

// checkTimeline: the layers on the page are the command's; at every step they add up to the live bytes, and these are
// what the events say.
func checkTimeline(t *testing.T, c commands, v view) {
	if len(v.Most) == 0 {
		kit.Same(t, "nothing to draw", len(v.Empty), 1)
		return
	}
	var a layers
	if err := json.Unmarshal(c.print(t, v.Command), &a); err != nil {
		t.Fatal(err)
	}
	best := 0
	for step, all := range a.All.Live {
		sum := a.Rest.Live[step]
		for _, r := range a.Rows {
			sum += r.Live[step]
		}
		if sum != all {
			t.Errorf("step %d: the layers are %d bytes, and all %d", step, sum, all)
		}
		if all > a.All.Live[best] {
			best = step
		}
	}
	want := append(slices.Clone(a.Rows), a.Rest, a.All)
	kit.Same(t, "layers", len(v.Most), len(want))
	for i, row := range v.Most {
		kit.Same(t, row.Name, exact(t, row.Numbers[0]), float64(want[i].Live[best]))
	}
	if c.name != "server" && c.name != "sqlite" && c.name != "python" {
		return
	}
	live := []uint64{0} // before each event
	for _, e := range c.dump(t, "heaptap dump --events "+c.name+".htap") {
		now := live[len(live)-1]
		switch e.Kind {
		case "alloc":
			now += e.Size
		case "free":
			now -= e.Size
		case "":
			continue // a mark
		}
		live = append(live, now)
	}
	for step, cut := range a.Events {
		if a.All.Live[step] != live[cut] {
			t.Errorf("step %d: %d live bytes, and by the events %d", step, a.All.Live[step], live[cut])
		}
	}
}

// checkEvents: the rows are the events that the command prints.
func checkEvents(t *testing.T, c commands, v view) {
	if len(v.Rows) == 0 {
		kit.Same(t, "no events", len(v.Empty), 1)
		return
	}
	list := c.dump(t, v.Command)
	kit.Same(t, "rows", len(v.Rows) <= len(list), true)
	for i, row := range v.Rows {
		for column, text := range row.Numbers {
			switch e := list[i]; strings.Fields(column)[0] {
			case "event":
				if e.Event != nil {
					kit.Same(t, "event", exact(t, text), float64(*e.Event))
				}
			case "size":
				if e.Kind != "" {
					kit.Same(t, "size", exact(t, text), float64(e.Size))
				}
			}
		}
	}
}

// checkMore: the page begins with static data, as the command prints it. What is made of another tool's file has none:
// the page says so.
func checkMore(t *testing.T, c commands, v view) {
	if v.Command == "" { // of sums of several recordings
		kit.Same(t, "no static data", len(v.Empty), 1)
		return
	}
	var a struct{ Variables []struct{ Name string } }
	if err := json.Unmarshal(c.print(t, v.Command), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Variables) == 0 {
		kit.Same(t, "no static data", len(v.Empty), 1)
		return
	}
	for i, row := range v.Rows {
		kit.Same(t, "variable", row.Name, a.Variables[i].Name)
	}
}
