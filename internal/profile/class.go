package profile

import (
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// emergencyPool is what libstdc++ 5 to 14 allocates when it is loaded, to be able to throw when memory has run out: room
// for 64 threads that throw objects of 1 KiB (libsupc++/eh_alloc.cc).
const emergencyPool = 72704

// classify says whose a stack is: the runtime's, if no function of the program is on it, or if it is the C++ library's
// reserve, which is allocated from the library's initialiser wherever the library is loaded from.
func (p *Profile) classify(s *tally.Stack) (c Class, truncated bool) {
	leaf := true
	all := true
	any := false
	pool := false
	p.PCs(s.ID, func(pc uint32) bool {
		pcv, _ := p.symbols.reader.PCs().Get(pc)
		if leaf {
			leaf = false
			pool = p.isPool(s, pc, pcv)
		}
		any = true
		all = all && pcv.Module != 0 && p.symbols.runtime[pcv.Module]
		return true
	})
	truncated = p.truncated(s.ID)
	if pool || any && all && !truncated {
		return Runtime, truncated
	}
	return Program, truncated
}

func (p *Profile) isPool(s *tally.Stack, pc uint32, at event.PC) bool {
	if processes := p.processes(s.ID); s.Allocations != processes || s.MinSize != s.MaxSize {
		return false
	}
	if s.MinSize == emergencyPool && strings.HasPrefix(filepath.Base(p.symbols.modules[at.Module].Path), "libstdc++.so") {
		return true
	}
	// Linked statically, or with the size changed by GLIBCXX_TUNABLES: known by its name.
	for _, f := range p.symbols.at(pc) {
		if strings.Contains(f.Function, "eh_alloc.cc") || strings.HasSuffix(f.File, "/eh_alloc.cc") {
			return true
		}
	}
	return false
}

// processes is how many processes have a stack.
func (p *Profile) processes(stack uint32) uint64 {
	if p.Merged == nil {
		return 1
	}
	return p.Merged.Spreads[stack].Inputs
}

func (p *Profile) truncated(stack uint32) bool {
	for range maxDepth {
		n, ok := p.nodes.Get(stack)
		if !ok {
			return false
		}
		if n.Truncated {
			return true
		}
		if stack = n.Parent; stack == 0 {
			return false
		}
	}
	return false
}
