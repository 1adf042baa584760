package merge

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestUntimed merges a recording with imported sums without lifetimes: the mean lifetime is that of the blocks whose
// lifetimes are known.
func TestUntimed(t *testing.T) {
	dir := t.TempDir()
	native := record(t, filepath.Join(dir, "a.htap"), 1, 1000)
	imported := NewImported("folded")
	if err := imported.Add(imported.Call(0, "main"), Numbers{Allocations: 5000, Bytes: 9000}.Stack()); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "b.htap")
	if err := imported.Write(foreign); err != nil {
		t.Fatal(err)
	}
	m := New(ByStart)
	for _, path := range []string{foreign, native.path} {
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(t.Context(), path, r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	out := filepath.Join(dir, "out.htap")
	if err := m.Write(out); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sum.Totals.MeanLifetime(), native.sum.Totals.MeanLifetime(); got != want || want == 0 ||
		sum.Totals.Deallocations != native.sum.Totals.Deallocations+5000 {
		t.Errorf("mean lifetime %d, expected %d; %+v", got, want, sum.Totals.Counts)
	}
	unknown := 0
	for i := range sum.Stacks {
		if s := &sum.Stacks[i]; s.Untimed > 0 {
			unknown++
			if s.MeanLifetime() != 0 || s.Untimed != 5000 {
				t.Errorf("%+v", s.Counts)
			}
		}
	}
	if unknown != 1 {
		t.Errorf("%d stacks without lifetimes", unknown)
	}
}

// TestImportedCost makes a recording of many call stacks: a forged file can have one in five bytes, so each may take
// some hundred bytes of memory, not thousands. All allocations count, even if they are not live at the same time.
func TestImportedCost(t *testing.T) {
	const stacks = 1 << 17
	names := make([]string, stacks)
	for i := range names {
		names[i] = fmt.Sprintf("%x", i)
	}
	path := filepath.Join(t.TempDir(), "a.htap")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	imported := NewImported("folded")
	for _, name := range names {
		if err := imported.Add(imported.Call(0, name), Numbers{Live: 1}.Stack()); err != nil {
			t.Fatal(err)
		}
	}
	if err := imported.Write(path); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / stacks; n > 3200 {
		t.Errorf("each of %d call stacks cost %d bytes", stacks, n)
	}
}
