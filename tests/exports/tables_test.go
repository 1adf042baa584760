package exports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTables has Python read the tables, recount the events, and run the queries of docs/formats.md.
func TestTables(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		folder := t.TempDir()
		for _, table := range []string{"stacks", "frames", "events", "timeline"} {
			for _, format := range []string{"csv", "jsonl"} {
				if err := os.Symlink(exported(t, format+":"+table, path),
					filepath.Join(folder, table+"."+format)); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got struct {
			Stacks, Events, Timeline map[string]uint64
			SQL                      [][][]any
		}
		decode(t, tool(t, "python3", "testdata/tables.py", folder, "../../docs/formats.md"), &got)
		want := totals(t, path)
		for table, sums := range map[string]map[string]uint64{"stacks": got.Stacks, "events": got.Events,
			"timeline": got.Timeline} {
			compared := 0
			for m, n := range want {
				if table != "stacks" && strings.HasPrefix(m, "leaked") { // events do not say what the runtime keeps
					n = want[strings.Replace(m, "leaked", "live", 1)]
				}
				if has, ok := sums[m]; ok {
					compared++
					if has != n {
						t.Errorf("%s: %s %d, expected %d", table, m, has, n)
					}
				}
			}
			if compared < 6 {
				t.Errorf("%s: only %d sums", table, compared)
			}
		}
		checkAnswers(t, path, got.SQL, want)
	})
}

// checkAnswers compares what SQL finds with what heaptap says.
func checkAnswers(t *testing.T, path string, answers [][][]any, want map[string]uint64) {
	t.Helper()
	if len(answers) != 10 {
		t.Fatalf("%d queries", len(answers))
	}
	expect := func(what string, got any, n uint64) {
		if got == nil {
			got = 0. // the sum of nothing
		}
		if fmt.Sprint(uint64(got.(float64))) != fmt.Sprint(n) {
			t.Errorf("%s: %v, expected %d", what, got, n)
		}
	}
	for i, m := range []string{"allocations", "bytes", "peak", "leaked", "temporary"} {
		expect("all in all, "+m, answers[1][0][i], want[m])
	}
	functions, compared := ofFunctions(t, path, "bytes"), 0
	for _, row := range answers[2] {
		module, _ := row[1].(string)
		if n, known := functions[module+"\x00"+row[0].(string)]; known {
			compared++
			expect("total of "+row[0].(string), row[2], n)
		}
	}
	if compared == 0 && len(functions) > 0 {
		t.Error("no function was compared")
	}
	expect("most live", answers[8][0][0], want["peak"])
	expect("never freed", answers[9][0][0], want["live-blocks"])
	expect("bytes never freed", answers[9][0][1], want["live"])
	foreign := uint64(0)
	for _, row := range answers[7] {
		foreign += uint64(row[2].(float64))
	}
	if filepath.Base(path) == "four.htap" && foreign < 4000 {
		t.Errorf("%d blocks were freed by other threads", foreign)
	}
}

// TestStreams holds that memory is for stacks, not events: what is written may be much more.
func TestStreams(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	small, _ := exportMemory(t, "csv", list["python"])
	large, written := exportMemory(t, "jsonl:events", list["python"])
	t.Logf("%d MB more for %d MB of events", (large-small)>>20, written>>20)
	if written < 10<<20 || large > small+written/2 {
		t.Errorf("%d bytes of events took %d bytes of memory, call stacks %d", written, large, small)
	}
}

// exportMemory is the largest resident set of an export, and the length of what was written.
func exportMemory(t *testing.T, format, path string) (resident, written int64) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	resident = largest(t, "export", "-f", format, "-o", to, path)
	st, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	return resident, st.Size()
}
