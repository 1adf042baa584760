package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
)

// Tables reads what records refer to. Not for concurrent use.
type Tables struct {
	s       *Spool
	pcs     *array
	nodes   *array
	modules *array
	at      uint64 // where the next module is in the log
	names   nameLog
	copied  [copiedNodes]Node // the nodes that begin with from,
	from    uint32            // a multiple of copiedNodes
}

// copiedNodes is how many nodes are copied at a time, since the nodes of a new stack lie side by side. They fill a page
// of the spool, and so lie in one segment.
const copiedNodes = 4096 / uint32(unsafe.Sizeof(wire.Node{}))

// PC is a program counter.
type PC struct {
	Addr        uint64
	Module      uint32 // id, or 0
	Interrupted bool
}

// Node is a node of the calling-context tree.
type Node struct {
	hash      uint64 // 0: not known
	Parent    uint32 // node, 0: a root
	PC        uint32 // program counter
	Truncated bool
}

// Module is an entry of the module log.
type Module struct {
	Unload bool // only ID, Proc and Time are set
	// Why the file's allocations are not seen (wire.ApartMalloc ...); else 0. Only Proc, Time and Path are set then.
	Apart   uint32
	ID      uint32
	Proc    uint32
	Time    uint64
	Start   uint64
	End     uint64
	Bias    uint64
	BuildID []byte
	Path    string
}

// Meta describes the process.
type Meta struct {
	Exe  string
	Args []string
	Dir  string
	Host string
	Env  []string
}

// Tables returns a reader of the spool's tables.
func (s *Spool) Tables() *Tables {
	return &Tables{
		s: s, pcs: s.array(wire.SegPCs, uint64(unsafe.Sizeof(wire.PC{}))),
		nodes:   s.array(wire.SegNodes, uint64(unsafe.Sizeof(wire.Node{}))),
		modules: s.array(wire.SegModules, 1), names: nameLog{log: s.array(wire.SegNames, 1)},
	}
}

// Close releases the memory.
func (t *Tables) Close() {
	t.pcs.close()
	t.nodes.close()
	t.modules.close()
	t.names.log.close()
}

// PC returns a program counter; false if it does not exist, or not yet.
func (t *Tables) PC(id uint32) (pc PC, ok bool) {
	_ = guard(t.s.path, func() error {
		p := (*wire.PC)(t.pcs.at(id))
		if p == nil {
			return nil
		}
		v := atomic.LoadUint64(&p.PC)
		if e := (wire.PC{PC: v, Module: p.Module, Sum: p.Sum}); !t.s.write && v != 0 && !e.Holds(id) {
			t.s.doubt("addresses of code are damaged: call stacks with them are missing")
			return nil
		}
		pc = PC{Addr: v &^ uint64(wire.PCInterrupted), Module: p.Module, Interrupted: v&wire.PCInterrupted != 0}
		ok = v != 0
		return nil
	})
	return pc, ok
}

// Node returns a node; false if it does not exist, or not yet.
func (t *Tables) Node(id uint32) (n Node, ok bool) {
	n, ok, _ = t.node(id)
	return n, ok
}

func (t *Tables) node(id uint32) (n Node, ok bool, err error) {
	if i := id - t.from; i < copiedNodes && t.copied[i].PC != 0 {
		return t.copied[i], true, nil
	}
	err = guard(t.s.path, func() error {
		t.copyNodes(id &^ (copiedNodes - 1))
		return nil
	})
	n = t.copied[id-t.from]
	return n, n.PC != 0 && err == nil, err
}

// copyNodes copies the page of nodes that begins with an id.
func (t *Tables) copyNodes(from uint32) {
	t.copied, t.from = [copiedNodes]Node{}, from
	p := (*[copiedNodes]wire.Node)(unsafe.Pointer(unsafe.SliceData(t.nodes.bytes(uint64(from)*t.nodes.element, 4096))))
	if p == nil {
		return
	}
	for i := range p {
		if v := atomic.LoadUint32(&p[i].PC); v != 0 { // before what was written before it
			t.copied[i] = Node{hash: p[i].Hash, Parent: p[i].Parent, PC: v &^ uint32(wire.NodeTruncated),
				Truncated: v&wire.NodeTruncated != 0}
		}
	}
}

// Step is a node on a path to the root.
type Step struct {
	ID uint32
	Node
}

// Path appends the nodes from id towards the root to dst. It stops at the root, at a node with an entry other than 0 in
// known, or when dst has limit nodes (0: no limit). missing is a node that does not exist (yet); else 0. If ok is
// false, the tables are damaged.
func (t *Tables) Path(dst []Step, id uint32, known []uint32, limit int) (path []Step, missing uint32, ok bool) {
	n, most := len(dst), 1000
	for id != 0 && (uint64(id) >= uint64(len(known)) || known[id] == 0) && (limit == 0 || len(dst) < limit) {
		s, there, err := t.node(id)
		if err != nil {
			return dst, 0, false
		}
		if !there {
			return dst, id, true
		}
		if !t.s.write && !t.holds(&s) {
			return dst, 0, false
		}
		if dst = append(dst, Step{id, s}); len(dst)-n > most {
			if most = t.mostNodes(); len(dst)-n > most {
				return dst, 0, false // a circle
			}
		}
		id = s.Parent
	}
	return dst, 0, true
}

// holds checks a node's hash, which depends on its parent's.
func (t *Tables) holds(n *Node) bool {
	if n.hash == 0 {
		return true
	}
	up, pc := uint64(wire.RootHash), n.PC
	if n.Truncated {
		pc |= wire.NodeTruncated
	}
	if n.Parent != 0 {
		parent, ok, _ := t.node(n.Parent)
		if !ok || parent.hash == 0 {
			return false
		}
		up = parent.hash
	}
	return n.hash == wire.NodeHash(up, pc)
}

// mostNodes returns the largest possible number of nodes.
func (t *Tables) mostNodes() (n int) {
	_ = guard(t.s.path, func() error {
		n = int(min(uint64(atomic.LoadUint32(&t.s.header.NextNode)), t.nodes.capacity()))
		return nil
	})
	return n
}

// The longest path and build id of a module that are accepted.
const (
	maxModulePath = 1 << 16
	maxBuildID    = 256
)

// Modules returns the entries that were appended to the module log since the last call, up to the first one that its
// writer has not published yet.
func (t *Tables) Modules() (list []Module, err error) {
	const head = uint64(unsafe.Sizeof(wire.Module{}))
	err = guard(t.s.path, func() error {
		end := atomic.LoadUint64(&t.s.header.ModuleBytes)
		for t.at+head <= end {
			b := t.modules.run(t.at, head)
			if b == nil {
				return nil
			}
			p := (*wire.Module)(unsafe.Pointer(unsafe.SliceData(b)))
			n := uint64(atomic.LoadUint32(&p.Length))
			if n == 0 {
				return nil
			}
			if n%8 != 0 || n < head || n > head+maxModulePath+maxBuildID+16 {
				t.at = end // entries behind a damaged one cannot be found
				return fmt.Errorf("%s: the module log is damaged at byte %d: an entry of %d bytes", t.s.path, t.at, n)
			}
			b = t.modules.run(t.at, n)
			if b == nil {
				return nil
			}
			b = bytes.Clone(b)
			m := *(*wire.Module)(unsafe.Pointer(unsafe.SliceData(b)))
			t.at += n
			if !t.s.write && !m.Holds(b[head:]) {
				t.s.doubt("an entry of the list of modules is damaged: names in module %d are missing", m.ID)
				continue
			}
			if uint64(m.BuildIDSize) > maxBuildID || uint64(m.PathSize) > n ||
				head+uint64(m.BuildIDSize)+uint64(m.PathSize) > n {
				continue
			}
			id := b[head:][:m.BuildIDSize]
			path := b[head:][m.BuildIDSize:][:m.PathSize]
			if m.Kind == wire.ModuleApart {
				list = append(list, Module{Apart: m.ID, Proc: m.Proc, Time: m.Time,
					Path: string(bytes.TrimRight(path, "\x00"))})
				continue
			}
			list = append(list, Module{
				Unload: m.Kind == wire.ModuleUnload, ID: m.ID, Proc: m.Proc, Time: m.Time, Start: m.Start, End: m.End,
				Bias: m.Bias, BuildID: id, Path: string(bytes.TrimRight(path, "\x00")),
			})
		}
		if b := t.modules.run(t.at, head); !t.s.write && b != nil && binary.LittleEndian.Uint32(b) != 0 {
			t.s.doubt("its list of modules is longer than it says: some names are missing")
		}
		return nil
	})
	return list, err
}

// Meta returns what the agent wrote about its process.
func (s *Spool) Meta() (m Meta, err error) {
	err = guard(s.path, func() error {
		a := s.array(wire.SegMeta, 1)
		defer a.close()
		const head = uint64(unsafe.Sizeof(wire.Meta{}))
		size := a.first
		b := a.bytes(0, size)
		if size < head || size > 1<<24 || b == nil {
			return fmt.Errorf("%s does not say which process it is of", s.path)
		}
		b = bytes.Clone(b)
		p := *(*wire.Meta)(unsafe.Pointer(unsafe.SliceData(b)))
		b = b[head:]
		if !s.write && !p.Holds(b) {
			s.doubt("the name and arguments of the program are damaged")
		}
		next := func(n uint32) []byte {
			k := min(uint64(n), uint64(len(b)))
			f := b[:k]
			b = b[k:]
			return bytes.TrimSuffix(f, []byte{0})
		}
		m.Exe = string(next(p.ExeSize))
		m.Args = split(next(p.CmdlineSize))
		m.Dir = string(next(p.CwdSize))
		m.Host = string(next(p.HostSize))
		m.Env = split(next(p.EnvSize))
		return nil
	})
	return m, err
}

func split(b []byte) (list []string) {
	if len(b) == 0 {
		return nil
	}
	for _, f := range bytes.Split(b, []byte{0}) {
		list = append(list, string(f))
	}
	return list
}
