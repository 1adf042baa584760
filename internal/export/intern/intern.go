// Package intern numbers values in the order in which they come, for formats that write each value once and then refer
// to it by number.
package intern

// Table numbers values from 0. The zero value is empty.
type Table[K comparable] struct {
	ids  map[K]int
	list []K
}

// ID returns a value's number.
func (t *Table[K]) ID(k K) int {
	id, _ := t.Add(k)
	return id
}

// Add returns a value's number, and whether the value is new.
func (t *Table[K]) Add(k K) (id int, added bool) {
	if id, ok := t.ids[k]; ok {
		return id, false
	}
	if t.ids == nil {
		t.ids = make(map[K]int)
	}
	id = len(t.list)
	t.ids[k] = id
	t.list = append(t.list, k)
	return id, true
}

// List returns the values by number.
func (t *Table[K]) List() []K { return t.list }
