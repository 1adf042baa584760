package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// emergencyPool is the size of the block that libstdc++ 5 to 14 allocates when it is loaded, so that it can throw when
// memory has run out: room for 64 threads that throw objects of 1 KiB (libsupc++/eh_alloc.cc).
const emergencyPool = 72704

// classify decides whether a stack is the runtime's: no function of the program is on it, or it is that of the C++
// library's emergency pool, which the library's initialiser allocates, wherever the library is loaded from.
func (p *Profile) classify(s *tally.Stack) (c Class, truncated bool) {
	l := p.lineage.of(p, s.ID)
	truncated = l&isTruncated != 0
	if l&hasFrames != 0 && l&(hasProgram|isTruncated) == 0 {
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
	path  []uint32
}

type traits uint8

const (
	isKnown traits = 1 << iota
	hasFrames
	hasProgram  // a frame belongs to the program, not to the loader or a runtime
	isTruncated // the unwinder could not reach the root
)

func (l *lineage) of(p *Profile, node uint32) traits {
	var t traits
	l.path = l.path[:0]
	for {
		if uint64(node) < uint64(len(l.known)) && l.known[node] != 0 {
			t = l.known[node]
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
		n, _ := p.nodes.Get(id)
		pc, _ := p.symbols.reader.PCs().Get(n.PC)
		t |= isKnown | hasFrames
		if pc.Module == 0 || !p.symbols.runtime[pc.Module] {
			t |= hasProgram
		}
		if n.Truncated {
			t |= isTruncated
		}
		if l.known == nil {
			l.known = make([]traits, p.nodes.Len()+1) // ids have no gaps, unless the tree is forged
		}
		if uint64(id) < uint64(len(l.known)) {
			l.known[id] = t
		}
	}
	return t
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
