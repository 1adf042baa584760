package exports

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// questions select a part of a recording.
var questions = [][]string{
	{"--from", "30%", "--to", "80%"},
	{"--from", "peak"},
	{"--to", "60%", "--at", "40%"},
	{"--size", "16..", "--focus", "main|sqlite|produce"},
	{"--hide", "^main$|sqlite3"},
	{"--lifetime", "..1ms"},
}

// asked are the sums of what a question selects, as heaptap top has them.
func asked(t *testing.T, path string, question []string) map[string]uint64 {
	t.Helper()
	var answer struct {
		Total   map[string]uint64
		Runtime struct{ Bytes uint64 }
	}
	args := append([]string{"top", "--json", "--limit", "0", "--metric",
		"allocations,bytes,deallocations,live,live-blocks,peak,peak-blocks,leaked,temporary", path}, question...)
	decode(t, command(t, args...), &answer)
	answer.Total["never freed"] = answer.Total["leaked"] + answer.Runtime.Bytes
	return answer.Total
}

// TestAsked asks questions of the formats that Valgrind's tools and heaptrack read.
func TestAsked(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		if name == "cc1plus" || name == "redis" {
			return // as python, whose questions take long enough
		}
		for _, q := range questions {
			t.Run(strings.Join(q, " "), func(t *testing.T) {
				want := asked(t, path, q)
				for i, n := range annotate(t, exported(t, "callgrind", path, q...), "--inclusive=yes",
					"PROGRAM TOTALS") {
					if m := callgrindMetrics[i]; n != want[m] {
						t.Errorf("callgrind: %s %d, top %d", m, n, want[m])
					}
				}
				for m, n := range dhatSums(t, exported(t, "dhat", path, q...)) {
					if n != want[m] {
						t.Errorf("dhat: %s %d, top %d", m, n, want[m])
					}
				}
				list := readMassif(t, exported(t, "massif", path, q...))
				for _, s := range list {
					if s.tree != "empty" && s.root.bytes != s.bytes {
						t.Errorf("massif: a snapshot of %d bytes has a tree of %d", s.bytes, s.root.bytes)
					}
					if s.tree == "peak" && s.bytes != want["peak"] {
						t.Errorf("massif: peak %d, top %d", s.bytes, want["peak"])
					}
				}
				got := heaptrackPrint(t, heaptrackFile(t, "heaptrack", path, q...), "leaked")
				for _, m := range []string{"leaked", "bytes", "allocations"} {
					right := want[m]
					if m == "leaked" {
						right = want["never freed"]
					}
					if got[m] != right && (m != "leaked" || !slices.Contains(q, "--to")) {
						t.Errorf("heaptrack: %s %d, top %d", m, got[m], right)
					}
				}
			})
		}
	})
}

// dhatSums adds up a DHAT file, and holds that no maximum is less than what was live at a moment of the range.
func dhatSums(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		PPs []struct{ TB, TBk, TL, MB, MBk, GB, GBk, EB, EBk uint64 }
		Te  uint64
	}
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	sums := map[string]uint64{"bytes": 0}
	for _, p := range data.PPs {
		for m, n := range map[string]uint64{"bytes": p.TB, "allocations": p.TBk, "peak": p.GB, "peak-blocks": p.GBk,
			"live": p.EB, "live-blocks": p.EBk} {
			sums[m] += n
		}
		if p.MB < p.GB || p.MB < p.EB || p.TL > p.TBk*data.Te {
			t.Errorf("%+v within %d ns", p, data.Te)
		}
	}
	return sums
}
