package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/tally"
)

// emergencyPool is the size of the block that libstdc++ 5 to 14 allocates when it is loaded, so that it can throw when
// memory has run out: room for 64 threads that throw objects of 1 KiB (libsupc++/eh_alloc.cc).
const emergencyPool = 72704

// classify decides whether a stack is the runtime's: a function that keeps what it allocates (runtime.txt) is among the
// innermost frames, or it is that of the C++ library's emergency pool, which the library's initialiser allocates,
// wherever the library is loaded from.
func (p *Profile) classify(s *tally.Stack) (c Class, truncated bool) {
	truncated = p.lineage.of(p, s.ID)&isTruncated != 0
	if p.lineage.kept(p, s.ID) {
		return Runtime, truncated
	}
	if n, ok := p.nodes.Get(s.ID); ok && s.ID != 0 {
		if at, _ := p.symbols.reader.PCs().Get(n.PC); p.isPool(s, n.PC, at) {
			return Runtime, truncated
		}
	}
	return Program, truncated
}

// lineage caches what is known of the frames from each node to its root. Stacks share their outer frames: each node is
// examined once, however deep the stacks are.
type lineage struct {
	known []traits // by node
	pcs   map[uint32]traits
	path  []uint32
}

type traits uint8

const (
	isKnown     traits = 1 << iota
	isTruncated        // the unwinder could not reach the root
	isDecided          // it is known whose the blocks are that are allocated here
	isKept             // they are the runtime's
)

// at returns the traits of a node, to be changed; nil if its id is not plausible.
func (l *lineage) at(p *Profile, node uint32) *traits {
	if l.known == nil {
		l.known = make([]traits, p.nodes.Len()+1) // ids have no gaps, unless the tree is forged
	}
	if uint64(node) < uint64(len(l.known)) {
		return &l.known[node]
	}
	return nil
}

func (l *lineage) of(p *Profile, node uint32) traits {
	var t traits
	l.path = l.path[:0]
	for {
		if at := l.at(p, node); at != nil && *at&isKnown != 0 {
			t = *at & isTruncated
			break
		}
		n, ok := p.nodes.Get(node)
		if node == 0 || !ok {
			break
		}
		l.path = append(l.path, node)
		node = n.Parent
	}
	for _, id := range slices.Backward(l.path) {
		if n, _ := p.nodes.Get(id); n.Truncated {
			t |= isTruncated
		}
		if at := l.at(p, id); at != nil {
			*at |= isKnown | t
		}
	}
	return t
}

// kept reports whether a function that keeps what it allocates is among the innermost frames of a stack.
func (l *lineage) kept(p *Profile, node uint32) bool {
	t := isDecided // without frames: the program's
	l.path = l.path[:0]
	for {
		if at := l.at(p, node); at != nil && *at&isDecided != 0 {
			t = *at
			break
		}
		n, ok := p.nodes.Get(node)
		if node == 0 || !ok {
			break
		}
		l.path = append(l.path, node)
		if x := l.pc(p, n.PC); x&isDecided != 0 {
			t = x
			break
		}
		node = n.Parent
	}
	for _, id := range l.path {
		if at := l.at(p, id); at != nil {
			*at |= t & (isDecided | isKept)
		}
	}
	return t&isKept != 0
}

// pc returns isKept if one of a pc's frames keeps what it allocates, isDecided if one is not the runtime's, and 0 if
// the caller decides.
func (l *lineage) pc(p *Profile, pc uint32) traits {
	if t, ok := l.pcs[pc]; ok {
		return t
	}
	if l.pcs == nil {
		l.pcs = make(map[uint32]traits)
	}
	t := p.symbols.decide(pc)
	l.pcs[pc] = t
	return t
}

func (s *symbols) decide(pc uint32) traits {
	at, _ := s.reader.PCs().Get(pc)
	k := s.keepers[at.Module]
	frames := s.reader.Frames(pc)
	if len(frames) == 0 {
		frames = []event.Frame{{}}
	}
	for i := range frames {
		switch name := frames[i].Function; {
		case k.keeps(name):
			return isDecided | isKept
		case !k.system && !owncode.InStandardLibrary(&owncode.Frame{Function: name, File: frames[i].File}):
			return isDecided
		}
	}
	return 0
}

func (p *Profile) isPool(s *tally.Stack, pc uint32, at event.PC) bool {
	if processes := p.processes(s.ID); s.Allocations != processes || s.MinSize != s.MaxSize {
		return false
	}
	if s.MinSize == emergencyPool && strings.HasPrefix(filepath.Base(p.symbols.modules[at.Module].Path),
		"libstdc++.so") {
		return true
	}
	// Linked statically, or of another size (GLIBCXX_TUNABLES): recognised by its name.
	for _, f := range p.symbols.at(pc) {
		if strings.Contains(f.Function, "eh_alloc.cc") || strings.HasSuffix(f.File, "/eh_alloc.cc") {
			return true
		}
	}
	return false
}

// processes returns the number of processes that have a stack.
func (p *Profile) processes(stack uint32) uint64 {
	if p.Merged == nil {
		return 1
	}
	return p.Merged.Spreads[stack].Inputs
}
