package recording

import "sort"

// Table is an array whose indexes may have gaps.
type Table[T any] struct {
	dense  []T
	filled []bool
	sparse map[uint32]T
	count  int
}

// entry is an entry and its index.
type entry[T any] struct {
	id uint32
	v  T
}

// MaxGap is how many indexes an array may have per entry; a Table with larger gaps becomes a map. An agent gives
// indexes without large gaps; a damaged or forged file might not.
const MaxGap = 8

// add adds entries, or replaces those that were there.
func (t *Table[T]) add(lists ...[]entry[T]) {
	n, size := 0, len(t.dense)
	for _, entries := range lists {
		n += len(entries)
		for i := range entries {
			size = max(size, int(entries[i].id)+1)
		}
	}
	if n == 0 {
		return
	}
	if t.sparse == nil && size > MaxGap*(t.count+n)+4096 {
		t.sparse = make(map[uint32]T, t.count+n)
		for i, ok := range t.filled {
			if ok {
				t.sparse[uint32(i)] = t.dense[i]
			}
		}
		t.dense, t.filled = nil, nil
	}
	if t.sparse == nil {
		t.dense = append(t.dense, make([]T, size-len(t.dense))...)
		t.filled = append(t.filled, make([]bool, size-len(t.filled))...)
	}
	for _, entries := range lists {
		for i := range entries {
			t.put(&entries[i])
		}
	}
}

// put adds an entry for which there is room.
func (t *Table[T]) put(e *entry[T]) {
	if t.sparse != nil {
		t.sparse[e.id] = e.v
		t.count = len(t.sparse)
		return
	}
	if !t.filled[e.id] {
		t.count++
	}
	t.dense[e.id], t.filled[e.id] = e.v, true
}

// set replaces an entry that is there.
func (t *Table[T]) set(i uint32, v T) {
	if t.sparse != nil {
		t.sparse[i] = v
		return
	}
	t.dense[i] = v
}

// Get returns the entry at i and whether there is one.
func (t *Table[T]) Get(i uint32) (T, bool) {
	if t.sparse != nil {
		v, ok := t.sparse[i]
		return v, ok
	}
	if uint64(i) < uint64(len(t.dense)) {
		return t.dense[i], t.filled[i]
	}
	var zero T
	return zero, false
}

// Len is the number of entries.
func (t *Table[T]) Len() int { return t.count }

// All yields the entries by rising index.
func (t *Table[T]) All(yield func(uint32, T) bool) {
	if t.sparse != nil {
		ids := make([]uint32, 0, len(t.sparse))
		for id := range t.sparse {
			ids = append(ids, id)
		}
		sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
		for _, id := range ids {
			if !yield(id, t.sparse[id]) {
				return
			}
		}
		return
	}
	for i, ok := range t.filled {
		if ok && !yield(uint32(i), t.dense[i]) {
			return
		}
	}
}
