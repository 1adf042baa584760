// Package intern numbers things in the order in which they come, as formats do that write each of them once and then name it by number.
package intern

// Table numbers things from 0. The zero value is empty.
type Table[K comparable] struct {
	ids  map[K]int
	list []K
}

// ID returns a thing's number.
func (t *Table[K]) ID(k K) int {
	id, _ := t.Add(k)
	return id
}

// Add returns a thing's number, and whether it is new.
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

// List has the things by their numbers.
func (t *Table[K]) List() []K { return t.list }
