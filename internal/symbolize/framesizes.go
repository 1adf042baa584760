package symbolize

import (
	"context"
	"debug/elf"
	"fmt"

	"github.com/heaptap/heaptap/internal/cfi"
	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// maxFrame is larger than any frame: what claims more is forged.
const maxFrame = 1 << 40

// FrameSizes returns how many bytes of the stack the frame of each pc takes: from the stack pointer at the call (or at
// the interrupted instruction) to the stack pointer before the function was called. That is its local variables, saved
// registers, arguments passed on the stack, and the return address. 0: unknown, because the call frame information does
// not say so: it refers to a frame pointer, or to an expression. The notes are sentences that say of which modules no
// frame is known, and why.
//
// Only files with the build id of the recording are read.
func (s *Symbolizer) FrameSizes(ctx context.Context, modules []event.Module, pcs []event.PC) (sizes []uint64,
	notes []string) {
	sizes = make([]uint64, len(pcs))
	for _, j := range s.jobs(modules, pcs) {
		if ctx.Err() != nil {
			break
		}
		err := elfx.Contain(func() error {
			found, why := s.frameSizes(&j)
			if why != "" {
				j.note("%s: no frame sizes: %s", j.module.Path, why)
			}
			for i, size := range found {
				for _, at := range j.where[i] {
					sizes[at] = size
				}
			}
			return nil
		})
		if err != nil {
			j.note("%s: no frame sizes: %v", j.module.Path, err)
		}
		notes = append(notes, j.notes...)
	}
	return sizes, notes
}

// frameSizes returns the sizes of a job's addresses, or says why there are none.
func (s *Symbolizer) frameSizes(j *job) (sizes []uint64, why string) {
	m := j.module
	if m.ID == 0 {
		return nil, "its call frame information was not recorded"
	}
	if len(m.BuildID) == 0 {
		return nil, "it has no build id, so that the file may be of another build"
	}
	f, ok := vdso(m)
	if !ok {
		f, _, why = s.loaded(m)
	}
	if f == nil {
		if ok {
			why = "this kernel has another one"
		}
		return nil, why
	}
	defer f.Close()
	var stackPointer uint64 // its DWARF number
	switch f.Machine {
	case elf.EM_X86_64:
		stackPointer = 7
	case elf.EM_AARCH64:
		stackPointer = 31
	default:
		return nil, fmt.Sprintf("code for %v is not supported", f.Machine)
	}
	section, err := f.CallFrames()
	if err != nil {
		return nil, err.Error()
	}
	if section.Data == nil {
		return nil, "the file has no call frame information (.eh_frame)"
	}
	rules, err := cfi.Find(cfi.Section(section), j.addrs)
	if err != nil {
		j.note("%s: some frame sizes are unknown: %v", m.Path, err)
	}
	sizes = make([]uint64, len(rules))
	for i, r := range rules {
		if r.Known && !r.Expression && !r.Outermost && r.Register == stackPointer && r.Offset > 0 &&
			r.Offset < maxFrame {
			sizes[i] = uint64(r.Offset)
		}
	}
	return sizes, ""
}
