package answer

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Frame is a function on a call stack.
type Frame struct {
	Function string `json:"function"`
	Kind     string `json:"kind,omitempty"` // whose code the function is: own, library, wrapper or other
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Module   string `json:"module"`
	Inlined  bool   `json:"inlined"`
	Address  string `json:"address"`
	Offset   string `json:"offset"`
}

func newFrame(p *profile.Profile, f *profile.Frame) Frame {
	j := Frame{f.Function, "", f.File, f.Line, f.Module, f.Inlined, hex(f.Address), hex(f.Offset)}
	if kind, known := p.Kind(f.Function, f.Module); known {
		j.Kind = kind.String()
	}
	return j
}

// frameTable numbers the frames of many call stacks, from 0. The most frequent ones have the smallest numbers, since
// these take least room: a large program's call stacks have millions of frames, but only some thousand different ones.
type frameTable struct {
	profile *profile.Profile
	entries []frameEntry // in the order of the numbers
	dense   []int32      // by pc: 1 + index of its entry; 0: none. A recording's pcs have no gaps, unless it is forged
	sparse  map[uint32]int32
	numbers int // the next one
}

// frameEntry is the frames of a program counter: several if functions were inlined there.
type frameEntry struct {
	pc   uint32
	uses int
	// The first one's number, and how many they are.
	first, count int
	text         string // their numbers, or in a whole table the frames themselves, each with a comma
}

const densePCs = 1 << 22

// newFrameTable numbers the frames of these call stacks.
func newFrameTable(p *profile.Profile, stacks []uint32) *frameTable {
	t := &frameTable{profile: p, sparse: make(map[uint32]int32)}
	for _, s := range stacks {
		p.PCs(s, func(pc uint32) bool {
			i := t.index(pc)
			if i < 0 {
				i = len(t.entries)
				t.entries = append(t.entries, frameEntry{pc: pc})
				t.set(pc, i)
			}
			t.entries[i].uses++
			return true
		})
	}
	slices.SortStableFunc(t.entries, func(a, b frameEntry) int { return cmp.Compare(b.uses, a.uses) })
	for i := range t.entries {
		t.set(t.entries[i].pc, i)
	}
	t.startAt(0)
	return t
}

// startAt numbers the frames from n on.
func (t *frameTable) startAt(n int) {
	t.numbers = n
	for i := range t.entries {
		e := &t.entries[i]
		e.first, e.count = t.numbers, len(t.profile.PCFrames(e.pc))
		t.numbers += e.count
		var text []byte
		for n := e.first; n < t.numbers; n++ {
			text = append(strconv.AppendInt(text, int64(n), 10), ',')
		}
		e.text = string(text)
	}
}

// stacksOf appends those of n groups that are call stacks.
func stacksOf(list []uint32, n int, group func(i int) *query.Group) []uint32 {
	for i := range n {
		if g := group(i); g.By == query.ByStack {
			list = append(list, g.Stack)
		}
	}
	return list
}

// spellOut has call stacks show the frames themselves instead of their numbers.
func (t *frameTable) spellOut() error {
	var b bytes.Buffer
	for i := range t.entries {
		b.Reset()
		for _, f := range t.profile.PCFrames(t.entries[i].pc) {
			if err := encode(&b, newFrame(t.profile, &f)); err != nil {
				return err
			}
			b.Bytes()[b.Len()-1] = ',' // instead of the line break
		}
		t.entries[i].text = b.String()
	}
	return nil
}

// index returns the index of a pc's entry, or -1.
func (t *frameTable) index(pc uint32) int {
	if uint64(pc) < uint64(len(t.dense)) {
		return int(t.dense[pc]) - 1
	}
	return int(t.sparse[pc]) - 1
}

func (t *frameTable) set(pc uint32, i int) {
	if pc >= densePCs {
		t.sparse[pc] = int32(i + 1)
		return
	}
	if n := int(pc) + 1 - len(t.dense); n > 0 {
		t.dense = append(t.dense, make([]int32, n)...)
	}
	t.dense[pc] = int32(i + 1)
}

// FrameNumbers is a call stack: an index into the table of frames for each of its frames, leaf to root.
type FrameNumbers struct {
	table *frameTable
	stack uint32
}

// of returns a call stack, which must be one of those that the table was made for.
func (t *frameTable) of(stack uint32) FrameNumbers { return FrameNumbers{t, stack} }

// MarshalJSON returns a list of numbers.
func (n FrameNumbers) MarshalJSON() ([]byte, error) {
	if n.table == nil {
		return []byte("null"), nil
	}
	return n.append(nil), nil
}

// AppendFrames appends the numbers to a list.
func (n FrameNumbers) AppendFrames(list []int) []int {
	if n.table == nil {
		return list
	}
	n.table.profile.PCs(n.stack, func(pc uint32) bool {
		e := &n.table.entries[n.table.index(pc)]
		for i := range e.count {
			list = append(list, e.first+i)
		}
		return true
	})
	return list
}

func (n FrameNumbers) append(b []byte) []byte {
	b = append(b, '[')
	start := len(b)
	n.table.profile.PCs(n.stack, func(pc uint32) bool {
		b = append(b, n.table.entries[n.table.index(pc)].text...)
		return true
	})
	if len(b) > start {
		b = b[:len(b)-1] // the last comma
	}
	return append(b, ']')
}

// rows are the frames, in the order of their numbers.
func (t *frameTable) rows() []Frame {
	list := make([]Frame, 0, len(t.entries))
	for i := range t.entries {
		for _, f := range t.profile.PCFrames(t.entries[i].pc) {
			list = append(list, newFrame(t.profile, &f))
		}
	}
	return list
}
