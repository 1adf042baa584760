package merge

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// forest holds the distinct call stacks of all recordings.
type forest struct {
	modules  []module
	moduleAt map[string]int32
	frames   [][]event.Frame
	framesAt map[string]int32
	pcs      []pc
	pcAt     map[pc]int32
	nodes    []node // 0: the root
	nodeAt   map[node]int32
}

type module struct {
	path, build string
	base        uint64 // lowest address in the file; 0 if it is not known
}

// pc identifies an address.
type pc struct {
	module      int32 // -1: none
	frames      int32
	offset      uint64 // in the module
	interrupted bool
	pool        bool // a PC of pools, whose name is in its frames
}

type node struct {
	parent, pc int32
	truncated  bool
}

func newForest() *forest {
	return &forest{moduleAt: make(map[string]int32), framesAt: make(map[string]int32), pcAt: make(map[pc]int32),
		nodes: make([]node, 1), nodeAt: make(map[node]int32)}
}

// number returns the number of a key, and adds the key if it is new.
func number[K comparable, V any](at map[K]int32, list *[]V, k K, v V) int32 {
	i, ok := at[k]
	if !ok {
		i = int32(len(*list))
		at[k] = i
		*list = append(*list, v)
	}
	return i
}

func (f *forest) module(m *event.Module) int32 {
	key := "\x00" + string(m.BuildID)
	if len(m.BuildID) == 0 {
		key = m.Path
	}
	i := number(f.moduleAt, &f.modules, key, module{path: m.Path, build: string(m.BuildID)})
	f.modules[i].path = min(f.modules[i].path, m.Path) // independent of the order
	f.modules[i].base = max(f.modules[i].base, m.Start-m.Bias)
	return i
}

// stackAdder adds the stacks of one recording to the forest.
type stackAdder struct {
	f       *forest
	r       *recording.Reader
	modules map[uint32]event.Module
	pcs     map[uint32]int32
	nodes   map[uint32]int32
}

func (f *forest) adder(r *recording.Reader) *stackAdder {
	p := &stackAdder{f, r, make(map[uint32]event.Module), make(map[uint32]int32), make(map[uint32]int32)}
	for _, m := range r.Modules() {
		p.modules[m.ID] = m
	}
	return p
}

// stack returns the node of a stack; 0 if it is not known.
func (s *stackAdder) stack(id uint32) int32 {
	at := int32(0)
	var way []uint32
	for id != 0 && len(way) < s.r.Nodes().Len() {
		n, ok := s.nodes[id]
		if ok {
			at = n
			break
		}
		v, ok := s.r.Nodes().Get(id)
		if !ok {
			break
		}
		way = append(way, id)
		id = v.Parent
	}
	for _, id := range slices.Backward(way) {
		v, _ := s.r.Nodes().Get(id)
		k := node{at, s.pc(v.PC), v.Truncated}
		at = number(s.f.nodeAt, &s.f.nodes, k, k)
		s.nodes[id] = at
	}
	return at
}

func (s *stackAdder) pc(id uint32) int32 {
	i, ok := s.pcs[id]
	if ok {
		return i
	}
	v, _ := s.r.PCs().Get(id)
	frames := s.r.Frames(id)
	k := pc{module: -1, interrupted: v.Interrupted, frames: number(s.f.framesAt, &s.f.frames, readsAs(frames), frames)}
	_, k.pool = v.Pool()
	if m, ok := s.modules[v.Module]; ok && v.Module != 0 {
		k.module, k.offset = s.f.module(&m), v.Addr-m.Bias
	}
	i = number(s.f.pcAt, &s.f.pcs, k, k)
	s.pcs[id] = i
	return i
}

// readsAs returns the text of frames, as a key.
func readsAs(list []event.Frame) string {
	var b strings.Builder
	n := 0
	for i := range list {
		f := &list[i]
		n += len(f.Function) + len(f.Linkage) + len(f.File) + 10
	}
	b.Grow(n)
	for i := range list {
		f := &list[i]
		for _, s := range []string{f.Function, f.Linkage, f.File} {
			b.WriteString(s)
			b.WriteByte(0)
		}
		b.Write([]byte{byte(f.Line), byte(f.Line >> 8), byte(f.Line >> 16), byte(f.Line >> 24), 0})
		if f.Inlined {
			b.WriteByte(1)
		}
		b.WriteByte(0xff)
	}
	return b.String()
}

// accounts are the sums of one stack.
type account struct {
	tally.Stack
	spread recording.Spread
}

// fill renumbers everything, in an order that depends only on the contents, and fills in the tables. numbers are
// the nodes' new numbers.
func (f *forest) fill(s *recording.Sums) (numbers []uint32) {
	modules := order(len(f.modules), func(a, b int32) int {
		x, y := &f.modules[a], &f.modules[b]
		return cmp.Or(cmp.Compare(x.path, y.path), cmp.Compare(x.build, y.build))
	})
	moduleNumber := inverse(modules)
	laid := f.layOut(modules)
	keys := make([]string, len(f.frames))
	for k, i := range f.framesAt {
		keys[i] = k
	}
	for i, k := range keys {
		if k == "" {
			keys[i] = readsAs(f.frames[i])
		}
	}
	place := func(p *pc) uint32 {
		if p.module < 0 {
			return 0
		}
		return moduleNumber[p.module]
	}
	pcs := order(len(f.pcs), func(a, b int32) int {
		x, y := &f.pcs[a], &f.pcs[b]
		if c := cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x.offset, y.offset)); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(keys[x.frames], keys[y.frames]), compareBools(x.interrupted, y.interrupted),
			compareBools(x.pool, y.pool))
	})
	pcNumber := inverse(pcs)
	s.PCs, s.Frames = make([]event.PC, 0, len(pcs)), make([][]event.Frame, 0, len(pcs))
	for _, i := range pcs {
		p := &f.pcs[i]
		v := event.PC{Addr: p.offset, Interrupted: p.interrupted}
		if p.pool {
			v = event.PoolPC(pcNumber[i])
		}
		if p.module >= 0 {
			v.Module = moduleNumber[p.module]
			v.Addr += laid[p.module].Bias
		}
		s.PCs = append(s.PCs, v)
		s.Frames = append(s.Frames, f.frames[p.frames])
	}
	for _, i := range modules {
		m := laid[i]
		m.ID, m.Path = moduleNumber[i], f.modules[i].path
		if b := f.modules[i].build; b != "" {
			m.BuildID = []byte(b)
		}
		s.Modules = append(s.Modules, m)
	}
	return f.fillNodes(s, pcNumber)
}

// firstAddress is the address of the first module. Modules below it are linked to a fixed address.
const firstAddress = 1 << 32

// layOut gives modules addresses, one after the other, since their real addresses differ between processes. A module
// that is linked to a fixed address gets it, unless it is taken. Modules begin with the beginning of their files, as in
// memory, if that is known.
func (f *forest) layOut(modules []int32) []event.Module {
	low, high := make([]uint64, len(f.modules)), make([]uint64, len(f.modules))
	for i := range low {
		low[i] = math.MaxUint64
	}
	for i := range f.pcs {
		if p := &f.pcs[i]; p.module >= 0 {
			low[p.module], high[p.module] = min(low[p.module], p.offset), max(high[p.module], p.offset)
		}
	}
	const page = 4096
	out := make([]event.Module, len(f.modules))
	next, linked := uint64(firstAddress), uint64(page)
	for _, i := range modules {
		begin := f.modules[i].base &^ (page - 1)
		if low[i] < begin || low[i]-begin > math.MaxUint32 {
			begin = low[i] &^ (page - 1)
		}
		at, size := &next, (high[i]-begin)&^(page-1)+page
		if begin >= linked && begin < firstAddress && size <= firstAddress-begin {
			linked, at = begin, &linked
		}
		out[i] = event.Module{Start: *at, End: *at + size, Bias: *at - begin, Unload: -1}
		*at += size
	}
	return out
}

// fillNodes walks the tree from its root.
func (f *forest) fillNodes(s *recording.Sums, pcNumber []uint32) (numbers []uint32) {
	// A node's first child, and the next child of its parent; 0: there is none.
	first, next := make([]int32, len(f.nodes)), make([]int32, len(f.nodes))
	for i := len(f.nodes) - 1; i > 0; i-- {
		p := f.nodes[i].parent
		first[p], next[i] = int32(i), first[p]
	}
	s.Nodes = make([]event.Node, 0, len(f.nodes)-1)
	var list []int32
	numbers = make([]uint32, len(f.nodes))
	todo := []int32{0}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at != 0 {
			n := &f.nodes[at]
			s.Nodes = append(s.Nodes, event.Node{Parent: numbers[n.parent], PC: pcNumber[n.pc], Truncated: n.truncated})
			numbers[at] = uint32(len(s.Nodes))
		}
		list = list[:0]
		for c := first[at]; c != 0; c = next[c] {
			list = append(list, c)
		}
		slices.SortFunc(list, func(a, b int32) int { // the last one comes first
			x, y := &f.nodes[a], &f.nodes[b]
			return cmp.Or(cmp.Compare(pcNumber[y.pc], pcNumber[x.pc]), compareBools(y.truncated, x.truncated))
		})
		todo = append(todo, list...)
	}
	return numbers
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// order returns the numbers below n, sorted.
func order(n int, compare func(a, b int32) int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortFunc(list, compare)
	return list
}

// inverse returns the place of each number in a list, counted from 1.
func inverse(list []int32) []uint32 {
	out := make([]uint32, len(list))
	for i, n := range list {
		out[n] = uint32(i + 1)
	}
	return out
}
