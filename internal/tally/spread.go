package tally

import (
	"encoding/binary"
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
)

// Classes is the number of classes of sizes and of lifetimes. A class is the number of bits of its values: class 0 has
// 0, class 1 has 1, class 2 has 2 and 3, and so on.
const Classes = 65

// Bucket sums up one class.
type Bucket struct {
	Count uint64
	Bytes uint64 // requested
}

func (b *Bucket) add(count, bytes uint64) {
	b.Count += count
	b.Bytes += bytes
}

// Spread says how the blocks of a process spread over sizes, lifetimes and threads.
type Spread struct {
	Sizes     [Classes]Bucket // allocations, by class of the requested size
	Lifetimes [Classes]Bucket // deallocations, by class of the lifetime in ns
	// Crossings are the deallocations by another thread than the one that allocated, ordered by From, then To.
	Crossings []Crossing
}

// Together is the index from which on threads are one in Crossings: so there are few.
const Together = 63

// Nobody is the To of blocks whose end nobody saw.
const Nobody = Together + 1

// Crossing sums up the blocks that one thread allocated and another one freed. From and To are the indexes of threads.
type Crossing struct {
	From, To uint32
	Bucket
}

// crossings holds Crossings while they are counted.
type crossings [Together + 1][Nobody + 1]Bucket

// cross counts a deallocation by another thread. Few programs have any: the table is made with the first one.
func (t *Tally) cross(from, to uint32, count, bytes uint64) {
	if t.crossings == nil {
		t.crossings = new(crossings)
	}
	t.crossings[min(from, Together)][min(to, Nobody)].add(count, bytes)
}

// foreign is cross for threads, of which to freed the blocks.
func (t *Tally) foreign(from, to uint32, count, bytes uint64) {
	t.cross(from, min(to, Together), count, bytes)
}

// spreads counts an allocation or a deallocation that stands for n, of so many bytes, whose times are multiples of unit
// ns. It is for all events but those of plain, which does the same faster.
func (t *Tally) spreads(e *event.Event, n, bytes uint64, unit int64) {
	if e.Kind == event.Alloc {
		t.sizes[bits.Len64(e.Size)].add(n, bytes)
		return
	}
	age := max(0, e.Time/unit-e.Born/unit) * unit
	t.lifetimes[bits.Len64(uint64(age))].add(n, bytes)
	switch {
	case e.Func == event.FuncUnknown:
		t.cross(e.BornBy, Nobody, n, bytes)
	case e.BornBy != e.Thread:
		t.foreign(e.BornBy, e.Thread, n, bytes)
	}
}

// spread returns what was counted; nil if the tally goes on from one that did not count it.
func (t *Tally) spread() *Spread {
	if t.unspread {
		return nil
	}
	s := &Spread{Sizes: t.sizes, Lifetimes: t.lifetimes}
	if t.crossings == nil {
		return s
	}
	for from := range t.crossings {
		for to, b := range t.crossings[from] {
			if b != (Bucket{}) {
				s.Crossings = append(s.Crossings, Crossing{uint32(from), uint32(to), b})
			}
		}
	}
	return s
}

// resumeSpread goes on from what was counted; s may be nil.
func (t *Tally) resumeSpread(s *Spread) {
	if s == nil {
		t.unspread = true
		return
	}
	t.sizes, t.lifetimes = s.Sizes, s.Lifetimes
	for _, c := range s.Crossings {
		t.cross(c.From, c.To, c.Count, c.Bytes)
	}
}

// append writes, of sizes and of lifetimes: the number of classes that are not empty, and for each of them its number,
// count and bytes; then the number of crossings, and for each of them its fields.
func (s *Spread) append(b []byte) []byte {
	for _, list := range [...]*[Classes]Bucket{&s.Sizes, &s.Lifetimes} {
		n := 0
		for i := range list {
			if list[i] != (Bucket{}) {
				n++
			}
		}
		b = binary.AppendUvarint(b, uint64(n))
		for class, bucket := range list {
			if bucket != (Bucket{}) {
				b = binary.AppendUvarint(b, uint64(class))
				b = binary.AppendUvarint(b, bucket.Count)
				b = binary.AppendUvarint(b, bucket.Bytes)
			}
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.Crossings)))
	for _, c := range s.Crossings {
		for _, n := range []uint64{uint64(c.From), uint64(c.To), c.Count, c.Bytes} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

func (d *decoder) spread() *Spread {
	s := &Spread{}
	for _, list := range [...]*[Classes]Bucket{&s.Sizes, &s.Lifetimes} {
		next := uint64(0)
		for range d.count("classes", 3) {
			class := d.number("class")
			if class < next || class >= Classes {
				d.fail("class", "impossible")
				return s
			}
			list[class], next = Bucket{d.number("class"), d.number("class")}, class+1
		}
	}
	n := d.count("crossings", 4)
	for range n {
		c := Crossing{From: d.index("crossing", Together), To: d.index("crossing", Nobody)}
		c.Count, c.Bytes = d.number("crossing"), d.number("crossing")
		if k := len(s.Crossings); k > 0 && (s.Crossings[k-1].From > c.From ||
			s.Crossings[k-1].From == c.From && s.Crossings[k-1].To >= c.To) {
			d.fail("crossing", "impossible")
		}
		if d.err != nil {
			return s
		}
		s.Crossings = append(s.Crossings, c)
	}
	return s
}

func (d *decoder) index(what string, most uint64) uint32 {
	n := d.number(what)
	if n > most {
		d.fail(what, "impossible")
		return 0
	}
	return uint32(n)
}
