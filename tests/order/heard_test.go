package order

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// heard is what a recording says of the program's blocks, in its order.
type heard struct {
	events []said
	fails  int
}

type said struct {
	what  uint32 // as in an entry
	tid   uint32 // that did it
	block block
	time  int64 // ns
}

// hear reads a recording.
func hear(rec *recording.Reader) (*heard, error) {
	h := &heard{}
	n := numbers{rec, make(map[uint32]int)}
	var blocks []block // by number of the allocation; tid 0: none of the program's
	err := rec.Events(func(e *event.Event) bool {
		s := said{tid: rec.Threads()[e.Thread].TID, time: e.Time}
		if e.Flags&event.Realloc != 0 {
			s.what = moved
		}
		switch e.Kind {
		case event.Alloc:
			if upper := n.upper(e.Stack); upper >= 0 {
				s.block = block{s.tid, uint32(upper)<<7 | uint32(e.Size-16)/8}
			}
			s.what |= allocated
			blocks = append(blocks, s.block)
		case event.Free:
			s.what |= freed
			s.block = blocks[e.Ref]
		case event.Fail:
			if e.Func == event.ReallocFunc {
				h.fails++
			}
		}
		if s.block.tid != 0 {
			h.events = append(h.events, s)
		}
		return true
	})
	return h, err
}

// numbers finds the block that an allocation made by its call stack.
type numbers struct {
	rec     *recording.Reader
	upper12 map[uint32]int // the number's upper twelve bits by call stack; -1: none of the program's
}

// upper returns the upper twelve bits of a block's number: the functions' names.
func (n *numbers) upper(stack uint32) int {
	if v, ok := n.upper12[stack]; ok {
		return v
	}
	leaf, _ := n.rec.Nodes().Get(stack)
	caller, _ := n.rec.Nodes().Get(leaf.Parent)
	v := -1
	if low, high := n.digit(leaf.PC, "low"), n.digit(caller.PC, "high"); low >= 0 && high >= 0 {
		v = high<<6 | low
	}
	n.upper12[stack] = v
	return v
}

// digit returns what the function at pc stands for, or -1: its name ends in two octal digits.
func (n *numbers) digit(pc uint32, prefix string) int {
	frames := n.rec.Frames(pc)
	if len(frames) == 0 {
		return -1
	}
	name := frames[len(frames)-1].Function
	if len(name) != len(prefix)+2 || name[:len(prefix)] != prefix {
		return -1
	}
	return int(name[len(prefix)]-'0')*8 + int(name[len(prefix)+1]-'0')
}
