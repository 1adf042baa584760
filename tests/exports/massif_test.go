package exports

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// massifNode is a node of a snapshot's tree.
type massifNode struct {
	bytes    uint64
	text     string
	children []massifNode
}

type massifSnapshot struct {
	time, bytes uint64
	tree        string // empty, detailed, peak
	root        massifNode
}

// TestMassif has ms_print read massif.out files: its peak is the report's, as is what is live at the end, and what it
// says of a function at the peak is what heaptap top says. The trees are looked at one by one: what is below a node
// sums up to it.
func TestMassif(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		file := exported(t, "massif", path)
		want := totals(t, path)
		list := readMassif(t, file)
		if want["peak"] > 0 != (msPrintPeak(t, file, len(list)) == want["peak"] && want["peak"] > 0) {
			t.Errorf("ms_print's peak is %d, report's %d", msPrintPeak(t, file, len(list)), want["peak"])
		}
		peaks, before := 0, uint64(0)
		for i, s := range list {
			if s.time < before {
				t.Errorf("snapshot %d goes back in time", i)
			}
			before = s.time
			if s.tree == "empty" {
				continue
			}
			if s.root.bytes != s.bytes {
				t.Errorf("snapshot %d has %d bytes, its tree %d", i, s.bytes, s.root.bytes)
			}
			s.root.check(t, true)
			if s.tree == "peak" {
				peaks++
				massifAgrees(t, path, &s.root)
			}
		}
		if last := list[len(list)-1]; last.bytes != want["live"] || last.tree == "empty" {
			t.Errorf("at the end %d bytes, a tree %s; report %d", last.bytes, last.tree, want["live"])
		}
		if (peaks == 1) != (want["peak"] > 0) {
			t.Errorf("%d peaks of %d bytes", peaks, want["peak"])
		}
	})
}

// check holds that no node has less than what is below it, and that the root has just that.
func (n *massifNode) check(t *testing.T, root bool) {
	sum := uint64(0)
	for i := range n.children {
		n.children[i].check(t, false)
		sum += n.children[i].bytes
	}
	if sum > n.bytes || root && sum != n.bytes {
		t.Errorf("%.200s: %d bytes, %d below", n.text, n.bytes, sum)
	}
}

var massifName = regexp.MustCompile(`^0x[0-9A-F]+: (.*) \((?:in )?.*\)$`)

// massifAgrees compares what the functions that allocate have at the peak. What is too small to be listed separately
// may be anyone's.
func massifAgrees(t *testing.T, path string, root *massifNode) {
	got, rest := map[string]uint64{}, uint64(0)
	for _, n := range root.children {
		if m := massifName.FindStringSubmatch(n.text); m != nil {
			got[m[1]] += n.bytes
		} else if strings.Contains(n.text, "all below") {
			rest += n.bytes
		}
	}
	if rest*10 > root.bytes {
		t.Errorf("%d of %d bytes are not listed separately", rest, root.bytes)
	}
	compared := 0
	for name, r := range topByFunction(t, path) {
		if want := r.Self["peak"]; got[name] > 0 {
			compared++
			if got[name] > want || got[name]+rest < want {
				t.Errorf("%.200s: %d bytes at the peak, top %d", name, got[name], want)
			}
		}
	}
	t.Logf("%d of %d functions compared, %d bytes in small places", compared, len(got), rest)
}

// readMassif reads a massif.out file, and holds that it is one.
func readMassif(t *testing.T, file string) (list []massifSnapshot) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	number := func(key string) uint64 {
		for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		}
		text, ok := strings.CutPrefix(lines.Text(), key+"=")
		n, err := strconv.ParseUint(text, 10, 64)
		if !ok || err != nil {
			t.Fatalf("%.200q: expected %s", lines.Text(), key)
		}
		return n
	}
	var tree func(level int) massifNode
	tree = func(level int) (n massifNode) {
		lines.Scan()
		children := 0
		text := strings.TrimPrefix(lines.Text(), strings.Repeat(" ", level))
		if _, err := fmt.Sscanf(text, "n%d: %d ", &children, &n.bytes); err != nil {
			t.Fatalf("%.200q: level %d: %v", lines.Text(), level, err)
		}
		n.text = strings.SplitN(text, " ", 3)[2]
		for range children {
			n.children = append(n.children, tree(level+1))
		}
		return n
	}
	for _, key := range []string{"desc: ", "cmd: ", "time_unit: ms"} {
		if lines.Scan(); !strings.HasPrefix(lines.Text(), key) {
			t.Fatalf("%.200q: expected %s", lines.Text(), key)
		}
	}
	for lines.Scan() {
		if n := number("snapshot"); n != uint64(len(list)) {
			t.Fatalf("snapshot %d, expected %d", n, len(list))
		}
		s := massifSnapshot{time: number("time"), bytes: number("mem_heap_B")}
		number("mem_heap_extra_B")
		number("mem_stacks_B")
		lines.Scan()
		if s.tree = strings.TrimPrefix(lines.Text(), "heap_tree="); s.tree != "empty" {
			s.root = tree(0)
		}
		list = append(list, s)
	}
	return list
}

// msPrintPeak is the size of the snapshot that ms_print marks as the peak; 0 if there is none.
func msPrintPeak(t *testing.T, file string, snapshots int) uint64 {
	t.Helper()
	cmd := exec.Command("ms_print", "--threshold=0", file)
	cmd.Dir = t.TempDir() // for its own file
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("Number of snapshots: %d\n", snapshots)) {
		t.Fatalf("ms_print: %v\n%.2000s", err, out)
	}
	peak := regexp.MustCompile(`(\d+) \(peak\)`).FindSubmatch(out)
	if peak == nil {
		return 0
	}
	row := regexp.MustCompile(`(?m)^ *` + string(peak[1]) + ` +[\d,]+ +([\d,]+) +[\d,]+ +0 +0$`).FindSubmatch(out)
	if row == nil {
		t.Fatalf("ms_print has no snapshot %s\n%.2000s", peak[1], out)
	}
	n, _ := strconv.ParseUint(strings.ReplaceAll(string(row[1]), ",", ""), 10, 64)
	return n
}
