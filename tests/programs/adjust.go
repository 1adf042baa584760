package programs

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// adjust replaces the bytes of a report by what libstdc++'s operators asked malloc for, since that is what the counting
// library sees: 1 byte when 0 were asked for, and with an alignment the size rounded up to it. heaptap records what the
// program asked for, so the events are counted again with those sizes.
func (rec *Recording) adjust() error {
	r, err := recording.Open(rec.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	sizes := map[uint64]uint64{} // of live blocks, by number of the allocation
	var n, live, blocks uint64
	rec.Totals.Bytes, rec.Peak.Bytes, rec.Peak.Blocks = 0, 0, 0
	err = r.Events(func(e *event.Event) bool {
		switch e.Kind {
		case event.Alloc:
			size := asked(e)
			sizes[n] = size
			n++
			live, blocks = live+size, blocks+1
			rec.Totals.Bytes += size
			if live > rec.Peak.Bytes {
				rec.Peak.Bytes, rec.Peak.Blocks = live, blocks
			}
		case event.Free:
			live, blocks = live-sizes[e.Ref], blocks-1
			delete(sizes, e.Ref)
		}
		return true
	})
	rec.Leaked.Bytes = live
	return err
}

// asked returns the size that libstdc++'s operator new asks malloc or aligned_alloc for.
func asked(e *event.Event) uint64 {
	switch e.Func {
	case event.New, event.NewArray, event.NewNothrow, event.NewArrayNothrow:
		return max(e.Size, 1)
	case event.NewAligned, event.NewArrayAligned, event.NewAlignedNothrow, event.NewArrayAlignedNothrow:
		if e.Align > 1 {
			return (max(e.Size, 1) + e.Align - 1) / e.Align * e.Align
		}
	}
	return e.Size
}
