package query

import "sync"

// pool keeps large slices for the next question, until garbage is collected.
type pool[T any] struct{ slices sync.Pool }

// smallest is the length below which slices are not worth keeping.
const smallest = 4096

// get returns a slice of n arbitrary values.
func (p *pool[T]) get(n int) []T {
	if n >= smallest {
		if s, _ := p.slices.Get().(*[]T); s != nil && cap(*s) >= n {
			return (*s)[:n]
		}
	}
	return make([]T, n)
}

// put keeps a slice that nobody uses any more.
func (p *pool[T]) put(s []T) {
	if cap(s) >= smallest {
		p.slices.Put(&s)
	}
}
