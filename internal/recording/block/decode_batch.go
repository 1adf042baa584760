package block

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// batching is the batch that is being filled. Its arrays have 256 places, so that a byte as an index needs no check.
type batching struct {
	n      int  // events so far
	rare   bool // some of them have fields that most lack
	events [256]event.Event
	refs   [256]uint64
	out    Batch
}

// clear empties the batch, and sets all fields of its places to the values of events that lack them.
func (b *batching) clear() {
	b.n, b.rare = 0, false
	for i := range b.events {
		b.events[i] = event.Event{Ref: event.NoRef}
	}
}

// yieldBatch yields the batch, and begins the next one.
func (x *Decoder) yieldBatch(yield Yield) (more bool) {
	b := &x.batch
	if b.n == 0 {
		return true
	}
	b.out = Batch{x.Head.FirstEvent + x.number - uint64(b.n), b.events[:b.n], b.refs[:b.n]}
	more = yield(&b.out)
	if b.rare {
		b.clear()
	}
	b.n = 0
	return more
}

// decodeRun decodes the next events, which are all of one thread, and yields each batch that becomes full.
func (x *Decoder) decodeRun(t *threadCursors, events uint64, yield Yield) (more, ok bool) {
	b := &x.batch
	for events > 0 {
		n, special := min(events, uint64(BatchEvents-b.n)), x.nextSparse-x.number
		if special < n {
			n = special + 1
		}
		first := b.n
		if !x.fill(t, int(n)) {
			return true, false
		}
		if ok = special >= n || x.special(); !ok { // the events before it are whole
			b.n--
			x.number--
		}
		if x.sampled {
			for i := first; i < b.n; i++ {
				x.Sampling.Weigh(&b.events[i], b.refs[i])
			}
		}
		if !ok {
			return true, false
		}
		events -= n
		if b.n == BatchEvents && !x.yieldBatch(yield) {
			return false, true
		}
	}
	return true, true
}

// special reads the rare fields of the latest event.
func (x *Decoder) special() bool {
	b := &x.batch
	at, number := b.n-1, x.number-1
	e := &b.events[at]
	for number == x.nextSparse {
		if !x.rare(e) {
			return false
		}
		x.nextSparse = math.MaxUint64
		if x.sparse.Left() > 0 {
			x.nextSparse = number + x.sparse.Uint()
		}
	}
	if b.rare = true; e.Kind != event.Alloc {
		b.refs[at] = e.Ref
	}
	return true
}
