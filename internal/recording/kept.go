package recording

import (
	"unsafe"

	"github.com/heaptap/heaptap/internal/lru"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// keptBytes is how much of what questions decode stays in memory for the next ones, of all recordings of this process
// together: whoever drags the ends of a range asks of the same blocks again and again.
const keptBytes = 40 << 20

// kept has what was decoded.
var kept = lru.New[keptKey, any](lru.Process, keptBytes)

// keptKey names a block of a recording, by its offset in the file.
type keptKey struct {
	of     *EventBlocks
	offset int64
	what   keptPart
}

// keptPart is what was decoded of a block.
type keptPart uint8

const (
	keptChanges keptPart = iota
	keptMoves
	keptTimes
	keptFar
)

// keep returns what was kept with that key, or makes it and keeps it. size says how many bytes it takes.
func keep[V any](key keptKey, made func() (V, error), size func(V) int64) (V, error) {
	if v, ok := kept.Get(key); ok {
		return v.(V), nil
	}
	v, err := made()
	if err == nil {
		kept.Put(key, v, size(v))
	}
	return v, err
}

// keepChanges keeps the changes of a block of events or of a summary.
func (e *EventBlocks) keepChanges(offset int64, made func() ([]Change, error)) ([]Change, error) {
	return keep(keptKey{e, offset, keptChanges}, made, func(list []Change) int64 {
		return int64(cap(list)) * int64(unsafe.Sizeof(Change{}))
	})
}

// Moves returns the events of block i as far as they change what is live; nil if they have no such form, see
// block.Decoder.Moves. They are kept and shared: nobody may change them.
func (e *EventBlocks) Moves(i int) (*block.Moves, error) {
	key := keptKey{e, e.list[i].offset, keptMoves}
	return keep(key, func() (m *block.Moves, err error) {
		d := e.decoder()
		defer e.decoders.Put(d)
		d.Wanted = Sizes
		err = e.open(d, i, func() error {
			m, err = d.Moves()
			return err
		})
		return m, err
	}, (*block.Moves).Size)
}

// times returns when the events of block i were.
func (e *EventBlocks) times(i int) (*block.Moments, error) {
	key := keptKey{e, e.list[i].offset, keptTimes}
	return keep(key, func() (t *block.Moments, err error) {
		d := e.decoder()
		defer e.decoders.Put(d)
		err = e.open(d, i, func() error {
			t, err = d.Moments()
			return err
		})
		return t, err
	}, (*block.Moments).Size)
}

// forget drops what was kept.
func (e *EventBlocks) forget() { kept.DropIf(func(k keptKey) bool { return k.of == e }) }
