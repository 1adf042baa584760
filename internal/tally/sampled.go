package tally

import "github.com/heaptap/heaptap/internal/event"

// addSampled counts a sampled allocation, or the Free that ends its block, with its weight. It is the counterpart of
// full.
func (b *Block) addSampled(local int, f event.Func, e *event.Event, unit int64) {
	b.events++
	a := &b.stacks[local]
	b.change(a)
	if b.sampled == nil {
		b.sampled = make(map[int]*Counts)
	}
	c := b.sampled[local]
	if c == nil {
		c = new(Counts)
		b.sampled[local] = c
	}
	n, bytes := e.Weight()
	t := b.t
	all := &t.totals
	all.LastTime = max(all.LastTime, e.Time)
	if e.Kind == event.Alloc || e.Flags&event.Realloc == 0 { // a realloc is one call
		all.Funcs[f] += n
	}
	if e.Kind == event.Alloc {
		a.Allocs += n
		a.Bytes += bytes
		a.Top = max(a.Top, int64(a.Bytes-a.FreedBytes))
		a.min = min(a.min, e.Size)
		a.max = max(a.max, e.Size)
		c.rare(e, n)
		all.Samples++
		all.LiveBlocks += n
		if all.LiveBytes += bytes; all.LiveBytes > b.most {
			b.rise(e.Time / unit * unit)
		}
		th := t.thread(e.Thread)
		th.Allocations += n
		th.Bytes += bytes
		return
	}
	a.Frees += n
	a.FreedBytes += bytes
	c.Lifetime.Add(uint64(max(0, e.Time/unit-e.Born/unit)*unit), n)
	all.LiveBytes -= bytes
	all.LiveBlocks -= n
	if f == event.FuncUnknown {
		all.Unseen += n
		return // unseen: the thread is not known
	}
	th := t.thread(e.Thread)
	th.Deallocations += n
	th.FreedBytes += bytes
	if e.BornBy != e.Thread {
		th.Foreign += n
	}
}
