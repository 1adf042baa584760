package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

// Blocks are blocks that were allocated in a range and are live at a moment: those that come first. The total has what
// all of them keep.
type Blocks struct {
	Head
	AtNS   int64   `json:"at_ns"`
	Blocks []Block `json:"blocks"`
	More   uint64  `json:"more"` // blocks that come later; 0 if the recording is sampled
}

// Block is one allocated block.
type Block struct {
	Number  uint64       `json:"number"` // of its allocation, from 0
	Event   uint64       `json:"event"`  // number of that among all events
	BornNS  int64        `json:"born_ns"`
	Size    uint64       `json:"size"`
	Usable  *uint64      `json:"usable"`            // null: not known
	Address string       `json:"address,omitempty"` // if addresses were recorded
	Thread  Thread       `json:"thread"`
	Call    string       `json:"call"`
	Sampled bool         `json:"sampled,omitempty"`
	Stack   FrameNumbers `json:"stack"`
}

// NewBlocks makes the answer.
func NewBlocks(s *query.Source, b *query.Blocks, page Page) *Blocks {
	list, _ := Cut(page, b.List)
	var stacks []uint32
	for i := range list {
		stacks = append(stacks, list[i].Stack)
	}
	t := newFrameTable(b.Shown(s), stacks)
	j := &Blocks{Head: newHead(s, &b.Answer), AtNS: b.AtTime, Blocks: newBlocks(s, list, t),
		More: b.After(page.Skip, len(list))}
	j.Frames = t.rows()
	return j
}

func newBlocks(s *query.Source, list []query.Block, t *frameTable) []Block {
	blocks := []Block{}
	for i := range list {
		blocks = append(blocks, newBlock(s, &list[i], t))
	}
	return blocks
}

func newBlock(s *query.Source, b *query.Block, t *frameTable) Block {
	j := Block{Number: b.Ref, Event: b.Event, BornNS: b.Born, Size: b.Size, Thread: NewThread(s, b.Thread),
		Call: b.Func.String(), Sampled: b.Sampled, Stack: t.of(b.Stack)}
	if b.HasUsable {
		j.Usable = &b.Usable
	}
	if b.Addr != 0 {
		j.Address = hex(b.Addr)
	}
	return j
}

// Biography is what became of a block.
type Biography struct {
	Head
	Forms   []BlockForm `json:"forms"`   // one for each allocation or reallocation, the first one first
	Asked   int         `json:"asked"`   // index of the one that was asked for
	Earlier bool        `json:"earlier"` // there are earlier forms, or they are not known
	Later   bool        `json:"later"`   // there are later forms, or they are not known
	Before  []Block     `json:"before"`  // allocated by the same thread just before
	After   []Block     `json:"after"`   // and just after
	Below   *Block      `json:"below"`   // at the next lower address when it was allocated; null: none, or not known
	Above   *Block      `json:"above"`   // at the next higher one
}

// BlockForm is a block from its allocation, or reallocation, to the next one or its end.
type BlockForm struct {
	Block
	End *BlockEnd `json:"end"` // null: it never ended
}

// BlockEnd is how a block ended.
type BlockEnd struct {
	TimeNS  int64        `json:"time_ns"`
	Event   uint64       `json:"event"`
	Thread  Thread       `json:"thread"`
	Call    string       `json:"call"`
	Realloc bool         `json:"realloc"` // it goes on as the next form
	Stack   FrameNumbers `json:"stack"`   // if the call stacks of deallocations were recorded
}

// NewBiography makes the answer.
func NewBiography(s *query.Source, b *query.Biography) *Biography {
	var stacks []uint32
	for i := range b.Forms {
		stacks = append(stacks, b.Forms[i].Stack)
		if e := b.Forms[i].End; e != nil {
			stacks = append(stacks, e.FreeStack)
		}
	}
	beside := []*query.Block{b.Below, b.Above}
	for _, list := range [][]query.Block{b.Before, b.After} {
		for i := range list {
			beside = append(beside, &list[i])
		}
	}
	for _, x := range beside {
		if x != nil {
			stacks = append(stacks, x.Stack)
		}
	}
	t := newFrameTable(b.Shown(s), stacks)
	j := &Biography{Head: newHead(s, &b.Answer), Forms: []BlockForm{}, Asked: b.Asked, Earlier: b.Earlier,
		Later: b.Later, Before: newBlocks(s, b.Before, t), After: newBlocks(s, b.After, t)}
	j.Frames = t.rows()
	for i := range b.Forms {
		f := &b.Forms[i]
		form := BlockForm{Block: newBlock(s, &f.Block, t)}
		if e := f.End; e != nil {
			form.End = &BlockEnd{e.Time, f.EndEvent, NewThread(s, e.Thread), e.Func.String(),
				e.Flags&event.Realloc != 0, t.of(e.FreeStack)}
		}
		j.Forms = append(j.Forms, form)
	}
	for i, to := range []**Block{&j.Below, &j.Above} {
		if beside[i] != nil {
			x := newBlock(s, beside[i], t)
			*to = &x
		}
	}
	return j
}
