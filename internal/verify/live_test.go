package verify

import (
	"math/rand/v2"
	"testing"
)

// TestLiveBlocks: blocks are found by their numbers as in a map, in whatever order they end, and only once.
func TestLiveBlocks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var l liveBlocks
	want := make(map[uint64]live)
	for ref := range uint64(3 * pageBlocks * groupPages) {
		b := live{size: rng.Uint64(), stack: rng.Uint32()}
		l.add(ref, b)
		want[ref] = b
		for range rng.IntN(3) {
			n := ref - min(ref, rng.Uint64N(1<<rng.IntN(20)))
			b, ok := want[n]
			delete(want, n)
			if got, is := l.take(n); got != b || is != ok {
				t.Fatalf("block %d of %d: %v, %t, want %v, %t", n, ref, got, is, b, ok)
			}
		}
	}
	if _, ok := l.take(1 << 60); ok || l.count != uint64(len(want)) {
		t.Errorf("%d blocks are live, want %d", l.count, len(want))
	}
	for n, b := range want {
		if got, ok := l.take(n); got != b || !ok {
			t.Fatalf("block %d: %v, %t, want %v", n, got, ok, b)
		}
	}
	for n, g := range l.groups {
		if g != nil {
			t.Errorf("group %d is kept although none of its blocks is live", n)
		}
	}
}

// TestByStack: each stack has its own value, even if no recorder would give it such a number.
func TestByStack(t *testing.T) {
	t.Parallel()
	b := newByStack[uint32](10)
	ids := []uint32{0, 1, 73, 74, 1 << 20, 1<<32 - 1}
	for _, id := range ids {
		if *b.at(id) != 0 {
			t.Errorf("stack %d has %d at first, want 0", id, *b.at(id))
		}
		*b.at(id) = ^id
	}
	for _, id := range ids {
		if *b.at(id) != ^id {
			t.Errorf("stack %d has %d", id, *b.at(id))
		}
	}
}
