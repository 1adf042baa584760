package recording_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/repair"
)

// TestDamage flips and cuts every byte of small recordings: every question gets the same answer, or an error, or the
// reader says that something is missing.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  []byte
		whole bool
		every int // bytes outside of summaries that are tried
	}{
		"whole": {small(t, true), true, 1}, "unfinished": {small(t, false), false, 1},
		"one level": {levels(t, 17, true), true, 5}, "unfinished level": {levels(t, 17, false), false, 11},
		"two levels": {levels(t, 258, true), true, 499},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flipAndCut(t, c.file, c.whole, c.every)
		})
	}
}

func flipAndCut(t *testing.T, good []byte, finished bool, every int) {
	r, err := recording.NewReader(bytes.NewReader(good), int64(len(good)), "x.htap")
	if err != nil {
		t.Fatal(err)
	}
	_, n := r.Cuts()
	want, whole, err := ask(good, n)
	if err != nil || whole != finished || uint64(len(want.Events)) != n {
		t.Fatal(whole, err, len(want.Events), want.Damage)
	}
	for _, q := range want.Queries {
		if q.Err != nil {
			t.Fatal(q.Question, q.Err)
		}
	}
	check := func(what string, at int, b []byte) {
		t.Helper()
		got, _, err := ask(b, n)
		if what == "cut" && !finished && err == nil {
			// A file that has no ending, and is cut between blocks, is not damaged otherwise.
			want := want.Events[:len(got.Events)]
			if len(want) > 0 && !reflect.DeepEqual(got.Events, want) {
				t.Fatalf("cut at %d: other events", at)
			}
			return
		}
		if !reflect.DeepEqual(got.Damage, want.Damage) || err != nil && got.Queries == nil {
			return // it was told
		}
		for i, q := range got.Queries {
			if w := want.Queries[i]; q.Err == nil && !reflect.DeepEqual(q.Value, w.Value) {
				t.Fatalf("%s at %d: %s is answered differently without a word: %+v, was %+v", what, at, q.Question,
					q.Value, w.Value)
			}
		}
		if err == nil && !same(got, want) {
			t.Fatalf("%s at %d: another answer without a word", what, at)
		}
	}
	inSummary := make([]bool, len(good))
	levels := map[int]int{}
	for _, b := range r.Blocks() {
		if b.Level > 0 {
			levels[b.Level]++
			for at := b.Offset; at < b.Offset+b.Size; at++ {
				inSummary[at] = true
			}
		}
	}
	every *= thinner
	tried := 0
	for at := range good {
		if at%every != 0 && !(inSummary[at] && (every < 100 || at%(7*thinner) == 0)) {
			continue
		}
		tried++
		b := bytes.Clone(good)
		b[at] ^= 1 << (at % 8)
		check("flip", at, b)
		if at%every == 0 {
			check("cut", at, bytes.Clone(good[:at]))
		}
	}
	t.Logf("%d of %d bytes flipped; summaries of each level: %v", tried, len(good), levels)
}

// same compares all but the answers to questions.
func same(a, b answer) bool {
	a.Queries, b.Queries = nil, nil
	return reflect.DeepEqual(a, b)
}

// TestMutations changes bytes and fixes the checksums, as a forger could. Every question gets an error or an answer,
// and takes bounded time and memory.
func TestMutations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file []byte
		n    uint64
		runs int
	}{{small(t, true), 80, 800}, {levels(t, 17, true), 17 * 6, 600}, {levels(t, 258, true), 258 * 6, 16}} {
		r := rand.New(rand.NewPCG(1, c.n))
		for run := range c.runs / thinner {
			b := bytes.Clone(c.file)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.IntN(256))
			}
			b = fixChecksums(b)
			bounded(t, b, c.n)
			if run%8 == 0 {
				repaired(t, b)
			}
		}
	}
}

// repaired repairs what can be opened; the result must be whole.
func repaired(t *testing.T, b []byte) {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x.htap")
	if err != nil {
		return
	}
	path := filepath.Join(t.TempDir(), "r.htap")
	x, err := repair.Write(t.Context(), r, path, repair.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	out, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	n := uint64(0)
	err = out.Events(func(*event.Event) bool { n++; return true })
	if err != nil || !out.Complete() || n != x.Events+x.Unseen {
		t.Fatalf("%d of %+v events, %v, %v", n, x, err, out.Damage())
	}
}

// bounded asks all questions, within bounds of time and memory.
func bounded(t *testing.T, b []byte, n uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, _, _ = ask(b, n)
	runtime.ReadMemStats(&after)
	if d := time.Since(start); d > 10*time.Second {
		t.Fatalf("%d bytes took %v", len(b), d)
	}
	// Each question takes some memory, and other tests run at the same time.
	if m := after.TotalAlloc - before.TotalAlloc; m > 2<<30 {
		t.Fatalf("%d bytes took %d bytes of memory", len(b), m)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(small(f, true), uint64(80))
	f.Add(small(f, false), uint64(80))
	f.Add(levels(f, 17, true), uint64(17*6))
	f.Add(levels(f, 17, false), uint64(50))
	f.Add(recording.FileHeader(1, 0), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint64) {
		// Ask also with right checksums.
		bounded(t, fixChecksums(b), n)
		bounded(t, b, n)
	})
}
