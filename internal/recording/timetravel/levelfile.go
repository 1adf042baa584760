package timetravel

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/heaptap/heaptap/internal/recording"
)

// errLevels says that what should be levels is something else.
var errLevels = errors.New("its levels are invalid")

// pack packs levels, each as the difference to the one before: in some 25 bytes instead of 72.
func pack(list []recording.Level) []byte {
	out := make([]byte, 0, 32*len(list))
	var last recording.Level
	for _, v := range list {
		for _, d := range [...]uint64{v.Number - last.Number, v.Time - last.Next, v.Next - v.Time,
			v.Allocs - last.Allocs, v.Bytes - last.Bytes, v.Frees - last.Frees} {
			out = binary.AppendUvarint(out, d)
		}
		for _, d := range [...]int64{v.Live - last.Live, v.Most - v.Live, v.Live - v.Least} {
			out = binary.AppendVarint(out, d)
		}
		last = v
	}
	return append(make([]byte, 0, len(out)), out...)
}

// unpack returns the levels that were packed.
func unpack(in []byte) (list []recording.Level, err error) {
	list = make([]recording.Level, 0, len(in)/16)
	var last recording.Level
	for len(in) > 0 {
		var d [6]uint64
		var s [3]int64
		for i := range d {
			n := 0
			if d[i], n = binary.Uvarint(in); n <= 0 {
				return nil, errLevels
			}
			in = in[n:]
		}
		for i := range s {
			n := 0
			if s[i], n = binary.Varint(in); n <= 0 {
				return nil, errLevels
			}
			in = in[n:]
		}
		v := recording.Level{Number: last.Number + d[0], Time: last.Next + d[1], Allocs: last.Allocs + d[3],
			Bytes: last.Bytes + d[4], Frees: last.Frees + d[5], Live: last.Live + s[0]}
		v.Next, v.Most, v.Least = v.Time+d[2], v.Live+s[1], v.Live-s[2]
		if v.Number <= last.Number || v.Time < last.Time || v.Next < v.Time || v.Next > math.MaxInt64 {
			return nil, errLevels
		}
		list, last = append(list, v), v
	}
	return list, nil
}

// Append appends the levels that the timeline knows of a recording to a file's contents; Restore reads them. Of blocks
// with dense levels, it appends as many as of others.
func (l *Timeline) Append(out []byte, r *recording.Reader) []byte {
	blocks := r.EventBlocks()
	left := keptLevels(blocks)
	for i := range blocks.Len() {
		b := l.of(blocks.Head(i).FirstEvent)
		if b.dense {
			b = *b.thin(left)
		}
		out = binary.AppendUvarint(out, uint64(len(b.packed)))
		out = append(out, b.packed...)
	}
	return out
}

// Restore reads the levels of a recording that Append wrote.
func (l *Timeline) Restore(in []byte, r *recording.Reader) error {
	blocks := r.EventBlocks()
	left := keptLevels(blocks)
	for i := range blocks.Len() {
		length, n := binary.Uvarint(in)
		if n <= 0 || length > uint64(len(in)-n) {
			return errLevels
		}
		packed := in[n:][:length]
		if in = in[n+int(length):]; length == 0 {
			continue
		}
		list, err := unpack(packed)
		if err != nil {
			return err
		}
		h := blocks.Head(i)
		if list[len(list)-1].Number != h.Events {
			return errLevels
		}
		l.learn(h.FirstEvent, levelsOf(list), left)
	}
	if len(in) > 0 {
		return errLevels
	}
	return nil
}

// keptLevels returns about how many levels are kept of each block.
func keptLevels(blocks *recording.EventBlocks) int {
	return min(max(levelRoom/max(blocks.Len(), 1), fewestLevels), mostLevels)
}
