package profile

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/recording"
)

// Frame is a function on a call stack.
type Frame struct {
	Function string // "" if unknown
	Linkage  string // the name in the symbol table, if it differs
	File     string // "" if unknown
	Line     uint32 // 0: unknown
	Module   string // path of the file that contains the code, "" if none
	Inlined  bool   // into the next frame
	Address  uint64 // in the process
	Offset   uint64 // the same relative to the module
}

// symbols has the frames of every pc.
type symbols struct {
	reader  *recording.Reader
	modules map[uint32]event.Module
	mu      *sync.RWMutex // of frames, which are made on first use
	frames  map[uint32][]Frame
	keepers map[uint32]keeper // by module
}

func (s *symbols) load(r *recording.Reader) {
	s.reader, s.mu = r, &sync.RWMutex{}
	s.modules = make(map[uint32]event.Module)
	s.keepers = make(map[uint32]keeper)
	s.frames = map[uint32][]Frame{CutPC: {{Function: CutName}}}
	for _, m := range r.Modules() {
		s.modules[m.ID] = m
		s.keepers[m.ID] = keeperOf(m.Path)
	}
}

// at returns the frames of a pc, at least one.
func (s *symbols) at(pc uint32) []Frame {
	s.mu.RLock()
	f, ok := s.frames[pc]
	s.mu.RUnlock()
	if ok {
		return f
	}
	p, _ := s.reader.PCs().Get(pc)
	m := s.modules[p.Module]
	base := Frame{Module: m.Path, Address: p.Addr}
	if p.Module != 0 {
		base.Offset = p.Addr - m.Bias
	}
	known := s.reader.Frames(pc)
	list := make([]Frame, max(len(known), 1))
	for i := range list {
		list[i] = base
	}
	for i, f := range known {
		list[i].Function, list[i].Linkage = funcname.Untagged(f.Function), f.Linkage
		list[i].File, list[i].Line = f.File, f.Line
		list[i].Inlined = f.Inlined
	}
	s.mu.Lock()
	s.frames[pc] = list
	s.mu.Unlock()
	return list
}

// RuntimeModule reports whether a file belongs to the loader or a language's runtime.
func RuntimeModule(path string) bool {
	name := filepath.Base(path)
	for _, p := range []string{"ld-linux", "ld-musl", "libc.so.", "libc-", "libstdc++.so", "libgcc_s.so", "libpthread",
		"libdl.so", "libdl-", "libc++.so", "libc++abi.so", "libheaptap"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return path == "[vdso]"
}

// PCs yields the pcs of a stack, leaf to root, for callers that go through many stacks. If the stack is too deep for
// that, it yields those nearest to the leaf, then CutPC; see Cut.
func (p *Profile) PCs(stack uint32, yield func(pc uint32) bool) {
	left := p.limit
	p.AllPCs(stack, func(pc uint32) bool {
		if left--; left == -1 && p.limit > 0 {
			yield(CutPC)
			return false
		}
		return yield(pc)
	})
}

// AllPCs yields all pcs of a stack, however deep it is, leaf to root.
func (p *Profile) AllPCs(stack uint32, yield func(pc uint32) bool) {
	for stack != 0 {
		n, ok := p.nodes.Get(stack)
		if !ok || !yield(n.PC) {
			return
		}
		stack = n.Parent
	}
}

// AppendFrames appends the frames of the pcs that PCs yields to list, leaf to root.
func (p *Profile) AppendFrames(list []Frame, stack uint32) []Frame {
	p.PCs(stack, func(pc uint32) bool {
		list = append(list, p.PCFrames(pc)...)
		return true
	})
	return list
}

// PCFrames returns the frames of one pc: at least one, unless frames are hidden.
func (p *Profile) PCFrames(pc uint32) []Frame {
	list := p.symbols.at(pc)
	if p.hide == nil {
		return list
	}
	shown, ok := p.shown[pc]
	if !ok {
		shown = slices.DeleteFunc(slices.Clone(list), func(f Frame) bool { return p.hide(&f) })
		p.shown[pc] = shown
	}
	return shown
}

// Hide removes the frames for which hide returns true from all stacks.
func (p *Profile) Hide(hide func(*Frame) bool) { p.hide, p.shown = hide, make(map[uint32][]Frame) }
