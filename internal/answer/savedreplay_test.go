package answer

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestParseSavedReplay: results are read up to the most that heaptap writes, and a file that says millions of them
// takes little memory.
func TestParseSavedReplay(t *testing.T) {
	good := SavedReplay{Calls: 7, Allocators: make([]SavedReplayResult, mostSavedAllocators)}
	good.Allocators[3] = SavedReplayResult{Name: "glibc", TimesNS: []int64{1}, RSS: []float64{2}}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	j, err := parseSavedReplay(text)
	if err != nil || j.Calls != 7 || len(j.Allocators) != mostSavedAllocators || j.Allocators[3].Name != "glibc" ||
		j.Allocators[3].RSS[0] != 2 {
		t.Fatalf("%+v, %v", j, err)
	}

	text = []byte(`{"allocators":[` + strings.Repeat("{},", 2<<20) + `{}],"calls":7}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	j, err = parseSavedReplay(text)
	runtime.ReadMemStats(&after)
	if err != nil || j.Calls != 7 || len(j.Allocators) != mostSavedAllocators {
		t.Errorf("%d calls, %d results, %v", j.Calls, len(j.Allocators), err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 64 {
		t.Errorf("reading %d MiB took %d MiB of memory", len(text)>>20, took)
	}
}
