package recording

import (
	"errors"
	"fmt"
)

// Refresh takes in what was appended to the file since it was opened or last refreshed, and reports whether that was
// anything: so one can follow a recording while it is being written. What was read before stays valid and is not read
// again. No other method of the Reader may run at the same time.
//
// A block whose writing is under way is left for the next time. Until the recorder has come to the end, Damage says
// that the ending is missing.
func (r *Reader) Refresh() (bool, error) {
	if r.measure == nil {
		return false, errors.New("only a recording that was opened by its name can be refreshed")
	}
	size, err := r.measure()
	switch {
	case err != nil:
		return false, err
	case size < r.scanned:
		return false, fmt.Errorf("%s: the file was cut from %d bytes to %d while it was being read", r.name, r.size,
			size)
	case size == r.size:
		return false, nil
	}
	r.budget += roomOf(size) - roomOf(r.size)
	r.size = size
	r.open = nil
	next := uint32(0)
	if n := len(r.blocks); n > 0 {
		next = r.blocks[n-1].seq + 1
	}
	list := r.scan(next)
	if r.counted && len(list) > 0 {
		r.tally, r.counted = nil, false
	}
	r.load(list)
	return len(list) > 0, nil
}
