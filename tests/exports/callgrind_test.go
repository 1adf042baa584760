package exports

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// callgrindMetrics are the columns of a callgrind file.
var callgrindMetrics = []string{"allocations", "bytes", "deallocations", "live", "peak", "leaked", "temporary"}

// TestCallgrind asks callgrind_annotate for the sums of the program, and for each function's own and inclusive costs:
// they are what heaptap top says.
func TestCallgrind(t *testing.T) {
	t.Logf("%s", tool(t, "valgrind", "--version"))
	each(t, func(t *testing.T, name, path string) {
		file := exported(t, "callgrind", path)
		allCosts(t, file)
		want := totals(t, path)
		for i, n := range annotate(t, file, "--inclusive=yes", "PROGRAM TOTALS") {
			if m := callgrindMetrics[i]; n != want[m] {
				t.Errorf("program totals: %s %d, report %d", m, n, want[m])
			}
		}
		functions := map[string]bool{} // FILE:FUNCTION
		files := map[string]int{}      // in which a function is, by its name
		for _, f := range callgrindFunctions(t, file) {
			functions[f.file+":"+f.name] = true
			files[f.name]++
		}
		compared := 0
		top := topByFunction(t, path)
		for _, inclusive := range []bool{false, true} {
			for _, f := range callgrindFunctions(t, file) {
				row, known := top[f.name]
				if f.name == "[root]" || files[f.name] > 1 || !known {
					continue
				}
				compared++
				costs := row.Self
				if inclusive {
					costs = row.Total
				}
				got := annotate(t, file, map[bool]string{false: "--inclusive=no", true: "--inclusive=yes"}[inclusive],
					f.file+":"+f.name)
				if got == nil && slices.Max(slices.Collect(maps.Values(costs))) == 0 {
					continue // what costs nothing is not printed
				}
				for i, m := range callgrindMetrics {
					if got == nil || got[i] != costs[m] {
						t.Fatalf("%.200q inclusive %v: %d, top says %v", f.name, inclusive, got, costs)
					}
				}
			}
		}
		if name != "empty" && name != "one" && compared < 20 {
			t.Errorf("only %d functions compared", compared)
		}
		t.Logf("%d functions, %d compared", len(functions), compared)
	})
}

// allCosts holds that each line of costs has all of them: speedscope computes with those that are left out.
func allCosts(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(?:\d+|totals:)((?: \d+)*)$`).FindAllSubmatch(b, -1)
	if len(found) == 0 {
		t.Error("no costs")
	}
	for _, m := range found {
		if n := len(strings.Fields(string(m[1]))); n != len(callgrindMetrics) {
			t.Fatalf("%d costs in a line: %q", n, m[0])
		}
	}
}

var annotatedLine = regexp.MustCompile(`^((?:\s*[\d,.]+){7})  (.*)$`)

// annotate returns what callgrind_annotate says of a function; nil if it does not mention it.
func annotate(t *testing.T, file, kind, function string) []uint64 {
	t.Helper()
	return once(t, []string{"callgrind_annotate", kind, file}, func() (map[string][]uint64, error) {
		cmd := exec.Command("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", kind, file)
		cmd.Dir = "/" // it takes its folder off names of files, but not off all of them
		var warnings strings.Builder
		cmd.Stderr = &warnings // Perl's
		out, err := cmd.Output()
		if err != nil || warnings.Len() > 0 || strings.Contains(string(out), "@@ WARNING") {
			return nil, fmt.Errorf("callgrind_annotate: %w\n%.2000s%.2000s", err, warnings.String(), out)
		}
		list := map[string][]uint64{}
		for line := range strings.Lines(string(out)) {
			m := annotatedLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			costs := []uint64{}
			for _, f := range strings.Fields(m[1]) {
				n, _ := strconv.ParseUint(strings.ReplaceAll(f, ",", ""), 10, 64) // "." is 0
				costs = append(costs, n)
			}
			name := m[2]
			if i := strings.LastIndex(name, " ["); i > 0 {
				name = name[:i]
			}
			list[name] = costs
		}
		return list, nil
	})[function]
}

// topRow is what heaptap top says of a function.
type topRow struct{ Self, Total map[string]uint64 }

// topByFunction asks heaptap top. Functions of one name in several modules are left out.
func topByFunction(t *testing.T, path string) map[string]topRow {
	t.Helper()
	var answer struct {
		Rows []struct {
			Group       struct{ Function, Module, Offset string }
			Self, Total map[string]uint64
		}
	}
	decode(t, command(t, "top", "--json", "--by", "function", "--limit", "0", "--metric",
		strings.Join(callgrindMetrics, ","), path), &answer)
	list, twice := map[string]topRow{}, map[string]bool{}
	for _, r := range answer.Rows {
		name := r.Group.Function
		if name == "" && r.Group.Module != "" {
			name = filepath.Base(r.Group.Module) + "+" + r.Group.Offset
		}
		twice[name] = twice[name] || list[name].Self != nil
		list[name] = topRow{r.Self, r.Total}
	}
	maps.DeleteFunc(list, func(name string, _ topRow) bool { return twice[name] || name == "" })
	return list
}

type callgrindFunction struct{ file, name string }

// callgrindFunctions reads a callgrind file's functions.
func callgrindFunctions(t *testing.T, file string) (list []callgrindFunction) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	name := func(kind, text string) string {
		number, name, full := strings.Cut(text, " ")
		if full {
			known[kind+number] = name
		}
		if known[kind+number] == "" {
			t.Fatalf("%s=%s was not defined", kind, text)
		}
		return known[kind+number]
	}
	// KCachegrind takes the number of a function for what it was at first: name, file and object.
	places, object, calleeObject, calleeFile := map[string]string{}, "", "", ""
	number := func(text, file, object string) {
		id, _, _ := strings.Cut(text, " ")
		if place := file + " in " + object; places[id] == "" {
			places[id] = place
		} else if places[id] != place {
			t.Errorf("function %s: %.200q, and %.200q", id, place, places[id])
		}
	}
	var f callgrindFunction
	for line := range strings.Lines(string(b)) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "ob":
			object = name("ob", text)
		case "fl":
			f.file = name("fl", text)
		case "fn":
			f.name = name("fn", text)
			number(text, f.file, object)
			list = append(list, f)
		case "cob":
			calleeObject = name("ob", text)
		case "cfi":
			calleeFile = name("fl", text)
		case "cfn":
			name("fn", text)
			number(text, calleeFile, calleeObject)
		}
	}
	return list
}
