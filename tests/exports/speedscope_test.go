package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// imported is what speedscope has understood of a file.
type imported struct {
	Profiles []struct {
		Name, Unit string
		Total      uint64
		Frames     []struct {
			Name, File  string
			Self, Total uint64
		}
	}
}

// speedscope reads files with the importer of the npm package.
func speedscope(t *testing.T, files ...string) (list []imported) {
	t.Helper()
	root, err := exec.Command("npm", "root", "-g").Output()
	folder := filepath.Join(strings.TrimSpace(string(root)), "speedscope")
	if set := os.Getenv("SPEEDSCOPE"); set != "" {
		folder = set
	}
	text, missing := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil && folder == "speedscope" || missing != nil {
		need.Lacks(t, "speedscope is not there: npm install -g speedscope, or its folder in $SPEEDSCOPE")
	}
	var p struct{ Version string }
	decode(t, text, &p)
	t.Logf("speedscope %s", p.Version)
	// It calls itself for each frame of a stack: 5,000 are more than node allows by default.
	out := tool(t, "node", append([]string{"--stack-size=4000", "testdata/speedscope.js", folder}, files...)...)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one imported
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
}

// ofFunctions are the totals of functions, as heaptap top has them: of all functions of a name and a module.
func ofFunctions(t *testing.T, path, metric string) (totals map[string]uint64) {
	t.Helper()
	var top struct {
		Rows []struct {
			Group struct{ Function, Module string }
			Total map[string]uint64
		}
	}
	decode(t, command(t, "top", "--json", "--limit", "0", "--metric", metric, path), &top)
	totals = map[string]uint64{}
	for _, r := range top.Rows {
		if r.Group.Function != "" {
			totals[r.Group.Module+"\x00"+r.Group.Function] = r.Total[metric]
		}
	}
	return totals
}

// eachInSpeedscope exports every recording to files, has speedscope read them all in one process (it takes longer to
// start than to read a file), and runs a test on what it has read of each recording.
func eachInSpeedscope(t *testing.T, export func(t *testing.T, name, path string) (files []string),
	test func(t *testing.T, name, path string, read []imported)) {
	t.Helper()
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	counts := map[string]int{}
	names := slices.Sorted(maps.Keys(list))
	for _, name := range names {
		files := export(t, name, list[name])
		all, counts[name] = append(all, files...), len(files)
	}
	read := speedscope(t, all...)
	if len(read) != len(all) {
		t.Fatalf("%d of %d files were read", len(read), len(all))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(t, name, list[name], read[:counts[name]]) })
		read = read[counts[name]:]
	}
}

func TestSpeedscope(t *testing.T) {
	eachInSpeedscope(t, func(t *testing.T, _, path string) []string {
		return []string{exported(t, "speedscope", path)}
	}, func(t *testing.T, name, path string, list []imported) {
		want, read := totals(t, path), list[0]
		if len(read.Profiles) != 5 {
			t.Fatalf("%d profiles", len(read.Profiles))
		}
		for _, p := range read.Profiles {
			if p.Total != want[p.Name] {
				t.Errorf("%s: %d, expected %d", p.Name, p.Total, want[p.Name])
			}
			sum := uint64(0)
			for _, f := range p.Frames {
				sum += f.Self
			}
			if sum != want[p.Name] {
				t.Errorf("%s: frames have %d of %d", p.Name, sum, want[p.Name])
			}
		}
		functions, compared := ofFunctions(t, path, "bytes"), 0
		for _, f := range read.Profiles[0].Frames {
			if n, known := functions[f.File+"\x00"+f.Name]; known {
				compared++
				if n != f.Total {
					t.Errorf("%s: %d bytes, expected %d", f.Name, f.Total, n)
				}
			}
		}
		if compared == 0 && len(functions) > 0 {
			t.Error("no function was compared")
		}
	})
}

// TestSpeedscopeThreads has a profile for each thread and metric.
func TestSpeedscopeThreads(t *testing.T) {
	eachInSpeedscope(t, func(t *testing.T, _, path string) []string {
		return []string{exported(t, "speedscope", path, "--by", "thread", "--metric", "bytes,peak")}
	}, func(t *testing.T, name, path string, list []imported) {
		want, read := totals(t, path), list[0]
		sums := map[string]uint64{}
		for _, p := range read.Profiles {
			metric, _, _ := strings.Cut(p.Name, ", ")
			sums[metric] += p.Total
		}
		if sums["bytes"] != want["bytes"] || sums["peak"] != want["peak"] {
			t.Errorf("%v, expected %d and %d", sums, want["bytes"], want["peak"])
		}
		if name == "four" && len(read.Profiles) != 2*4 { // the fourth thread only frees
			t.Errorf("%d profiles", len(read.Profiles))
		}
	})
}

// TestSpeedscopeReads has it read other formats that it knows.
func TestSpeedscopeReads(t *testing.T) {
	eachInSpeedscope(t, func(t *testing.T, name, path string) []string {
		folded := exported(t, "folded", path, "--metric", "bytes")
		if name == "empty" {
			return nil // it reads no file without a line
		}
		return []string{folded, exported(t, "pprof", path, "--metric", "bytes")}
	}, func(t *testing.T, name, path string, list []imported) {
		want := totals(t, path)
		for i, read := range list {
			if total := read.Profiles[0].Total; total != want["bytes"] {
				t.Errorf("%d: %d bytes, expected %d", i, total, want["bytes"])
			}
		}
	})
}

// TestSpeedscopeCallgrind has speedscope read callgrind's form: a profile for each cost, and what costs something is a
// number.
func TestSpeedscopeCallgrind(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	want := totals(t, path)
	read := speedscope(t, exported(t, "callgrind", path))[0]
	if len(read.Profiles) != len(callgrindMetrics) {
		t.Fatalf("%d profiles", len(read.Profiles))
	}
	for i, p := range read.Profiles {
		sum := uint64(0)
		for _, f := range p.Frames {
			sum += f.Self
		}
		if n := want[callgrindMetrics[i]]; p.Total != n || sum != n {
			t.Errorf("%s: %d in sum, functions %d, expected %d", p.Name, p.Total, sum, n)
		}
	}
}
