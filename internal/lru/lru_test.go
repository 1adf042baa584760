package lru_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/lru"
)

// TestCache compares a cache with a list whose first element was used last.
func TestCache(t *testing.T) {
	t.Parallel()
	type kept struct{ key, value, size int }
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const limit = 100
		c := lru.New[int, int](lru.NewBudget(limit), limit)
		var model []kept
		find := func(key int) int { return slices.IndexFunc(model, func(k kept) bool { return k.key == key }) }
		for n := range 2000 {
			key := rng.IntN(30)
			switch i := find(key); rng.IntN(20) {
			case 0:
				c.DropIf(func(k int) bool { return k%5 == key%5 })
				model = slices.DeleteFunc(model, func(k kept) bool { return k.key%5 == key%5 })
			case 1, 2, 3, 4, 5, 6, 7:
				size := rng.IntN(limit/4) + rng.IntN(2)*rng.IntN(limit)
				c.Put(key, n, int64(size))
				if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
				if size <= limit {
					model = slices.Insert(model, 0, kept{key, n, size})
				}
				for sum(model, func(k kept) int { return k.size }) > limit {
					model = model[:len(model)-1]
				}
			default:
				v, ok := c.Get(key)
				if ok != (i >= 0) || ok && v != model[i].value {
					t.Fatalf("seed %d, step %d: key %d has %d, %t; the model says %+v", seed, n, key, v, ok, model)
				}
				if ok {
					k := model[i]
					model = slices.Insert(slices.Delete(model, i, i+1), 0, k)
				}
			}
			if got := c.Size(); got != int64(sum(model, func(k kept) int { return k.size })) {
				t.Fatalf("seed %d, step %d: %d bytes; the model says %+v", seed, n, got, model)
			}
		}
	}
}

func sum[T any](list []T, of func(T) int) (n int) {
	for _, v := range list {
		n += of(v)
	}
	return n
}

// TestConcurrent: goroutines may use a cache at the same time.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	c := lru.New[int, int](lru.NewBudget(50), 50)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for n := range 500 {
				key := (n * (g + 1)) % 20
				if v, ok := c.Get(key); ok && v != key {
					t.Errorf("key %d has %d", key, v)
				}
				c.Put(key, key, 7)
				if n%100 == 0 {
					c.DropIf(func(k int) bool { return k == key })
				}
			}
		})
	}
	all.Wait()
	if c.Size() > 50 {
		t.Errorf("%d bytes", c.Size())
	}
}

// TestBudget: caches that share a budget never keep more than it has, and what was not used for longest goes first.
func TestBudget(t *testing.T) {
	t.Parallel()
	b := lru.NewBudget(100)
	first, second := lru.New[int, int](b, 80), lru.New[string, int](b, 80)
	first.Put(1, 1, 40)
	second.Put("a", 2, 40)
	if _, ok := first.Get(1); !ok {
		t.Fatal("the first value was dropped while there was room")
	}
	first.Put(3, 3, 30)
	_, used := first.Get(1)
	_, unused := second.Get("a")
	if !used || unused || b.Size() != 70 {
		t.Errorf("used: %t, unused: %t, %d bytes; want only the used ones, 70 bytes", used, unused, b.Size())
	}
	first.Leave()
	if b.Size() != 0 {
		t.Errorf("%d bytes are kept after the cache left", b.Size())
	}
}
