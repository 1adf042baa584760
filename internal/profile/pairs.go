package profile

import (
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// dropFalsePairs removes pairs that only seem mismatched. If a program has its own operator new, the recording has the
// malloc within it, while a library may free such blocks with the operator delete of another library.
func (p *Profile) dropFalsePairs(list []event.Pair) []event.Pair {
	return slices.DeleteFunc(slices.Clone(list), func(x event.Pair) bool {
		if x.Mismatch&event.MismatchFunction == 0 {
			return false
		}
		return p.operatorFamily(x.Stack, x.Alloc, "operator new") ==
			p.operatorFamily(x.FreeStack, x.Free, "operator delete")
	})
}

// operatorFamily returns the family of a function that was called at a stack: the caller's, if the caller is an
// operator of that name.
func (p *Profile) operatorFamily(stack uint32, f event.Func, operator string) event.Family {
	if f.Family() != event.FamilyC || stack == 0 {
		return f.Family()
	}
	var frames []Frame
	p.AllPCs(stack, func(pc uint32) bool {
		frames = p.PCFrames(pc)
		return len(frames) == 0
	})
	if len(frames) == 0 || !strings.HasPrefix(frames[0].Function, operator) {
		return f.Family()
	}
	aligned := strings.Contains(frames[0].Function, "align_val_t")
	switch rest := frames[0].Function[len(operator):]; {
	case strings.HasPrefix(rest, "[]") && aligned:
		return event.FamilyArrayAligned
	case strings.HasPrefix(rest, "[]"):
		return event.FamilyArray
	case aligned:
		return event.FamilyNewAligned
	}
	return event.FamilyNew
}

// MismatchedBlocks returns how many blocks were freed by a function that does not match the allocation function.
func (p *Profile) MismatchedBlocks() (n uint64) {
	for i := range p.Mismatches {
		n += p.Mismatches[i].Count
	}
	return n
}
