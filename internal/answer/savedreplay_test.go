package answer

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
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

// TestBoundSavedReplay: a file may say anything; what is read is possible, and is JSON.
func TestBoundSavedReplay(t *testing.T) {
	j := SavedReplay{Runs: -1, Threads: -5, Calls: math.MaxUint64, PeakLive: math.MaxUint64, TimesNS: []int64{-1, 9, 3},
		Live: []uint64{1, 2, 3}, Allocators: []SavedReplayResult{{CallNS: math.NaN(), CPU: -1, P99: math.Inf(1)}}}
	j.bound()
	x := j.Allocators[0]
	if j.Runs != 0 || j.Threads != 0 || j.Calls > math.MaxInt64 || j.PeakLive > math.MaxInt64 ||
		!slices.Equal(j.TimesNS, []int64{0, 9, 9}) || x.CallNS != 0 || x.CPU != 0 || x.P99 != math.MaxInt64 {
		t.Errorf("%+v", j)
	}
	if _, err := json.Marshal(j); err != nil {
		t.Error(err)
	}
}
