package exports

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// firefoxProfile is what the test looks at of a profile.
type firefoxProfile struct {
	Meta struct {
		Categories []any
	}
	Libs     []any
	Counters []struct {
		Samples struct {
			Time   []float64
			Number []uint64
			Count  []int64
			Length int
		}
	}
	Threads []struct {
		Samples struct {
			Stack  []*int
			Length int
		}
		Markers struct {
			Data []struct {
				Bytes, Blocks uint64
			}
			Name      []int
			StartTime []float64
			EndTime   []*float64
			Phase     []int
			Category  []int
			Length    int
		}
		StackTable struct {
			Frame, Category, Subcategory []int
			Prefix                       []*int
			Length                       int
		}
		FrameTable struct {
			Address                                  []int64
			InlineDepth, Category, Subcategory, Func []int
			NativeSymbol, Line, Column               []*int
			Implementation                           []*string
			InnerWindowID                            []int
			Length                                   int
		}
		FuncTable struct {
			Name, Resource                     []int
			IsJS, RelevantForJS                []bool
			FileName, LineNumber, ColumnNumber []*int
			Length                             int
		}
		ResourceTable struct {
			Lib, Name, Type []int
			Host            []*int
			Length          int
		}
		StringArray       []string
		NativeAllocations struct {
			Time                    []float64
			Weight                  []int64
			Stack                   []int
			MemoryAddress, ThreadID []uint64
			Length                  int
		}
	}
}

// TestFirefox holds profiles to the documented form, and adds up what the profiler would show of them.
func TestFirefox(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		for _, format := range []string{"firefox", "firefox:blocks"} {
			file := exported(t, format, path)
			judge[struct{}](t, "schema", "testdata/firefox.schema.json", file)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var p firefoxProfile
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			checkFirefox(t, format, path, &p)
		}
	})
}

// TestFirefoxRange asks for a part of the time, and of the blocks: what is older ends there, but does not begin.
func TestFirefoxRange(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		for _, flags := range [][]string{{"--from", "40%", "--to", "80%"}, {"--from", "peak", "--size", "100.."},
			{"--from", "0.5%"}} {
			var top struct{ Total struct{ Bytes, Freed uint64 } }
			decode(t, command(t, append([]string{"top", "--json", "--metric", "bytes,freed", path}, flags...)...), &top)
			for _, format := range []string{"firefox", "firefox:blocks"} {
				b, err := os.ReadFile(exported(t, format, path, flags...))
				if err != nil {
					t.Fatal(err)
				}
				var p firefoxProfile
				decode(t, b, &p)
				var bytes, freed uint64
				for _, n := range p.Threads[0].NativeAllocations.Weight {
					if n > 0 {
						bytes += uint64(n)
					} else {
						freed += uint64(-n)
					}
				}
				if bytes != top.Total.Bytes || freed != top.Total.Freed {
					t.Errorf("%s %q: %d allocated, %d freed, expected %v", format, flags, bytes, freed, top.Total)
				}
			}
		}
	})
}

func checkFirefox(t *testing.T, format, path string, p *firefoxProfile) {
	t.Helper()
	want, th := totals(t, path), &p.Threads[0]
	for name, table := range map[string]any{"samples": th.Samples, "markers": th.Markers, "stacks": th.StackTable,
		"frames": th.FrameTable, "functions": th.FuncTable, "resources": th.ResourceTable,
		"allocations": th.NativeAllocations, "counter": p.Counters[0].Samples} {
		checkColumns(t, format+" "+name, reflect.ValueOf(table))
	}
	checkIndexes(t, format, p)
	if th.Samples.Length != 1 || th.Samples.Stack[0] != nil {
		t.Errorf("%s: samples are not one that is nowhere", format)
	}
	checkAllocations(t, format, path, p, want)

	live, most := int64(0), int64(0)
	for _, n := range p.Counters[0].Samples.Count {
		live += n
		most = max(most, live)
	}
	if uint64(live) != want["live"] || uint64(most) != want["peak"] {
		t.Errorf("%s: the counter ends at %d with at most %d, expected %v", format, live, most, want)
	}
	for i, m := range th.Markers.Data {
		if th.StringArray[th.Markers.Name[i]] == "peak" &&
			(m.Bytes != want["peak"] || m.Blocks != want["peak-blocks"]) {
			t.Errorf("%s: the peak is %v", format, m)
		}
	}
	if want["peak"] > 0 && th.Markers.Length == 0 {
		t.Errorf("%s: no marker", format)
	}
}

// checkColumns holds that all columns of a table have its length.
func checkColumns(t *testing.T, name string, table reflect.Value) {
	t.Helper()
	length := int(table.FieldByName("Length").Int())
	for i := range table.NumField() {
		if f := table.Field(i); f.Kind() == reflect.Slice && f.Len() != length {
			t.Errorf("%s: column %s has %d values, the table %d", name, table.Type().Field(i).Name, f.Len(), length)
		}
	}
}

func checkIndexes(t *testing.T, format string, p *firefoxProfile) {
	t.Helper()
	th := &p.Threads[0]
	within := func(what string, list []int, least, length int) {
		for _, i := range list {
			if i < least || i >= length {
				t.Fatalf("%s: %s: index %d of %d", format, what, i, length)
			}
		}
	}
	within("stack of an allocation", th.NativeAllocations.Stack, 0, th.StackTable.Length)
	within("frame", th.StackTable.Frame, 0, th.FrameTable.Length)
	within("category", append(th.StackTable.Category, th.FrameTable.Category...), 0, len(p.Meta.Categories))
	within("function", th.FrameTable.Func, 0, th.FuncTable.Length)
	within("name", append(append(th.FuncTable.Name, th.Markers.Name...), th.ResourceTable.Name...), 0,
		len(th.StringArray))
	within("resource", th.FuncTable.Resource, -1, th.ResourceTable.Length)
	within("library", th.ResourceTable.Lib, 0, len(p.Libs))
	for i, prefix := range th.StackTable.Prefix { // callers come first
		if prefix != nil && *prefix >= i {
			t.Fatalf("%s: stack %d is below stack %d", format, i, *prefix)
		}
	}
}

// checkAllocations sums up the allocations, and what is retained of them as the profiler finds it: what is less than 0
// bytes ends what was allocated last at its address.
func checkAllocations(t *testing.T, format, path string, p *firefoxProfile, want map[string]uint64) {
	t.Helper()
	th := &p.Threads[0]
	a := &th.NativeAllocations
	retained, leaves := map[uint64]int{}, map[string]uint64{}
	var bytes, freed uint64
	for i, n := range a.Weight {
		if i > 0 && a.Time[i] < a.Time[i-1] {
			t.Fatalf("%s: row %d is before the row before", format, i)
		}
		if n >= 0 {
			bytes += uint64(n)
			if _, twice := retained[a.MemoryAddress[i]]; twice || n == 0 {
				t.Fatalf("%s: row %d: %d bytes, address twice: %t", format, i, n, twice)
			}
			retained[a.MemoryAddress[i]] = i
			leaves[th.StringArray[th.FuncTable.Name[th.FrameTable.Func[th.StackTable.Frame[a.Stack[i]]]]]] += uint64(n)
			continue
		}
		freed += uint64(-n)
		if k, known := retained[a.MemoryAddress[i]]; !known || a.Weight[k] != -n || a.Stack[k] != a.Stack[i] {
			t.Fatalf("%s: row %d ends nothing, or something else", format, i)
		}
		delete(retained, a.MemoryAddress[i])
	}
	leaked := uint64(0)
	for _, i := range retained {
		leaked += uint64(a.Weight[i])
	}
	if bytes != want["bytes"] || freed != want["freed"] || leaked != want["live"] {
		t.Errorf("%s: %d allocated, %d freed, %d retained; expected %v", format, bytes, freed, leaked, want)
	}
	sameSelves(t, format, leaves, selves(t, path, "bytes"))
}
