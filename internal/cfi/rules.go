package cfi

import (
	"errors"
	"sort"
)

// Rule says where the frame of an instruction ends.
type Rule struct {
	// Known is false if the section has nothing about the instruction.
	Known bool
	// Expression: only evaluating an expression gives the CFA.
	Expression bool
	// Register is the DWARF number of the register from which the CFA is Offset bytes away.
	Register uint64
	Offset   int64
	// Outermost: nothing called this function. The CFA is meaningless.
	Outermost bool
}

// Section is a file's .eh_frame and its address.
type Section struct {
	Data []byte // little-endian
	Addr uint64
}

// maxSteps limits the instructions of rules that Find executes.
const maxSteps = 1 << 24

var errTooLong = errors.New("the call frame information takes too long to evaluate")

// table is a section that is being read. It remembers the last common entry, since entries that share one follow each
// other.
type table struct {
	data   []byte
	addr   uint64
	shared common
	last   int
	known  bool
	steps  int // left
}

// Find returns the rules of instructions, by their addresses, which must be in ascending order. With an error, which
// says what is wrong with the section, the rules that are known are valid.
func Find(s Section, addrs []uint64) ([]Rule, error) {
	t := &table{data: s.Data, addr: s.Addr, steps: maxSteps}
	rules := make([]Rule, len(addrs))
	open := newOpenSet(len(addrs))
	var first error
	for at := 0; at < len(t.data) && open.left > 0; {
		f, ok, next, err := t.function(at)
		if err != nil {
			return rules, err
		}
		at = next
		if !ok {
			continue
		}
		i := open.next(sort.Search(len(addrs), func(i int) bool { return addrs[i] >= f.start }))
		if i == len(addrs) || addrs[i]-f.start >= f.size {
			continue
		}
		err = t.evaluate(&f, addrs, open, i, rules)
		switch {
		case errors.Is(err, errTooLong):
			return rules, err
		case first == nil: // the program of one function, and others may be valid
			first = err
		}
	}
	return rules, first
}

// openSet holds the indexes that have no rule yet. Entries of a forged section may all describe the same addresses:
// what is done must be skipped in constant time.
type openSet struct {
	skip []int // the next index to look at; an index that is open has itself
	left int
}

func newOpenSet(n int) *openSet {
	o := &openSet{make([]int, n+1), n}
	for i := range o.skip {
		o.skip[i] = i
	}
	return o
}

// next returns the first open index from i on, or the number of all.
func (o *openSet) next(i int) int {
	end := i
	for o.skip[end] != end {
		end = o.skip[end]
	}
	for i != end {
		i, o.skip[i] = o.skip[i], end
	}
	return end
}

func (o *openSet) close(i int) {
	if o.skip[i] == i {
		o.skip[i] = i + 1
		o.left--
	}
}
