package verify

// byStack has a value for each call stack, by its number; initially zero.
type byStack[T any] struct {
	dense []T
	far   map[uint32]*T // of numbers larger than a recorder gives
}

// newByStack expects as many stacks as there are nodes.
func newByStack[T any](nodes int) *byStack[T] {
	return &byStack[T]{dense: make([]T, nodes+64), far: make(map[uint32]*T)}
}

func (b *byStack[T]) at(stack uint32) *T {
	if uint64(stack) < uint64(len(b.dense)) {
		return &b.dense[stack]
	}
	p := b.far[stack]
	if p == nil {
		p = new(T)
		b.far[stack] = p
	}
	return p
}
