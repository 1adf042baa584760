package profile

import (
	"sync"

	"github.com/heaptap/heaptap/internal/owncode"
)

// code says whose code functions are. Copies of a profile share it.
type code struct {
	mu   sync.Mutex
	fold *Folding
}

// SetCode says by which rules functions are the user's own.
func (p *Profile) SetCode(rules owncode.Rules) { p.code = &code{fold: p.NewFolding(rules, false)} }

// Kind says whose code a function is, as Folding.Function does; false if SetCode was not called. It is safe for
// concurrent use.
func (p *Profile) Kind(name, module string) (kind owncode.Kind, known bool) {
	if p.code == nil {
		return owncode.Other, false
	}
	p.code.mu.Lock()
	defer p.code.mu.Unlock()
	return p.code.fold.Function(name, module), true
}

// FileKind says whose a source file is, as Folding.File does; false if SetCode was not called. It is safe for
// concurrent use.
func (p *Profile) FileKind(path string) (kind owncode.Kind, known bool) {
	if p.code == nil {
		return owncode.Other, false
	}
	p.code.mu.Lock()
	defer p.code.mu.Unlock()
	return p.code.fold.File(path), true
}

// Changeable returns the line of a stack that the user can change, as Folding.Changeable does. It is safe for
// concurrent use.
func (p *Profile) Changeable(stack uint32) (Level, bool) {
	if p.code == nil {
		return p.NewFolding(owncode.Rules{}, false).Changeable(stack)
	}
	p.code.mu.Lock()
	defer p.code.mu.Unlock()
	return p.code.fold.Changeable(stack)
}

// ChangeableName returns the name of the function that the user can change on a stack; "" if the stack is unknown.
func (p *Profile) ChangeableName(stack uint32) string {
	l, ok := p.Changeable(stack)
	switch {
	case !ok:
		return ""
	case l.Function == "":
		return l.AddressName()
	}
	return l.Function
}

// Kinds yields all functions with their kinds. The module and the name of a function are those of its frames; either
// may be "". It is safe for concurrent use.
func (p *Profile) Kinds(yield func(name, module string, kind owncode.Kind)) {
	if p.code == nil {
		return
	}
	p.code.mu.Lock()
	defer p.code.mu.Unlock()
	p.code.fold.count()
	for key, kind := range p.code.fold.functions {
		yield(key[0], key[1], kind)
	}
}
