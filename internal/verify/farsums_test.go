package verify

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestFarSums: wrong sums by block of the allocation are found, whichever number is wrong, and right ones are not.
func TestFarSums(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{})
	now := int64(0)
	add := func(e event.Event) {
		now += 100
		e.Time = now
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(40) { // each block frees what the two before it have allocated
		for k := range uint64(2) {
			add(event.Event{Kind: event.Alloc, Func: event.Malloc, Size: 10 + i, Ref: event.NoRef})
			if i > k {
				ref := 2*(i-k-1) + k
				add(event.Event{Kind: event.Free, Func: event.FreeFunc, Size: 10 + ref/2, Ref: ref})
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(recording.Ending{End: now}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, change := range []func(t *recording.FarTable){
		func(*recording.FarTable) {},
		func(t *recording.FarTable) { t.List[3].Frees++ },
		func(t *recording.FarTable) { t.List[2].Bytes-- },
		func(t *recording.FarTable) { t.List[5].Born-- },
		func(t *recording.FarTable) { t.List[5].Stack++ },
		func(t *recording.FarTable) { t.List = slices.Delete(t.List, 4, 5) },
		func(t *recording.FarTable) { t.List = append(t.List, t.List[len(t.List)-1]) },
	} {
		c := &Check{}
		f := newFarSums(r, c)
		if len(f.tables) < 2 || len(f.tables[0].List) < 8 {
			t.Fatalf("%d tables", len(f.tables))
		}
		first := *f.tables[0]
		first.List = slices.Clone(first.List)
		change(&first)
		wrong := len(first.List) != len(f.tables[0].List) || !slices.Equal(first.List, f.tables[0].List)
		f.tables[0] = &first
		number := uint64(0)
		if err := r.Events(func(e *event.Event) bool {
			number++
			f.add(e, number)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		f.finish()
		if text := strings.Join(c.Problems, "; "); (text != "") != wrong {
			t.Errorf("wrong: %v, found: %q", wrong, text)
		}
	}
}
