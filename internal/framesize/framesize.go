// Package framesize says how many bytes each frame takes of a thread's stack, where the stack was deepest.
//
// A recording has the call stack and how deep it was, in bytes, but not the stack pointers of its frames. The size of a
// frame comes from the call frame information of the file that was loaded, which must still be here (package
// symbolize). Where that does not say it, the size is unknown; it is not guessed. Of the depth, what the known sizes
// leave is shared by the frames of unknown size and what lies above the outermost frame, such as thread-local
// variables.
package framesize

import (
	"context"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// Sizes are the frames of the threads' deepest stacks.
type Sizes struct {
	// Notes say of which modules no frame is known, and why, as sentences.
	Notes []string
	byPC  map[uint32]uint64 // 0: unknown
}

// Stack sums up the sizes of a thread's deepest stack.
type Stack struct {
	Unknown  uint64 // bytes of the depth that the frames of known size leave
	Frames   int    // how many frames have an unknown size
	Conflict bool   // the sizes exceed the depth, so one of the two is wrong: no size counts as known
}

// Find finds the sizes of the frames on the deepest stack of each thread.
func Find(ctx context.Context, s *query.Source) *Sizes {
	z := &Sizes{byPC: make(map[uint32]uint64)}
	var ids []uint32
	var pcs []event.PC
	for i := range s.Profile.StackMemory {
		s.Profile.AllPCs(s.Profile.StackMemory[i].Stack, func(id uint32) bool {
			if _, seen := z.byPC[id]; !seen {
				z.byPC[id] = 0
				if pc, ok := s.Reader.PCs().Get(id); ok {
					ids, pcs = append(ids, id), append(pcs, pc)
				}
			}
			return ctx.Err() == nil
		})
	}
	if len(pcs) == 0 {
		return z
	}
	var sizes []uint64
	sizes, z.Notes = symbolize.New(symbolize.Options{}).FrameSizes(ctx, s.Reader.Modules(), pcs)
	for i, size := range sizes {
		z.byPC[ids[i]] = size
	}
	return z
}

// Of returns the size of a frame on the deepest stack of a thread, by its pc. 0: unknown, as with a nil z.
func (z *Sizes) Of(pc uint32) uint64 {
	if z == nil {
		return 0
	}
	return z.byPC[pc]
}

// Stack sums up the deepest stack of a thread.
func (z *Sizes) Stack(p *profile.Profile, m *profile.StackMemory) Stack {
	all, unknown, known := 0, 0, uint64(0)
	p.AllPCs(m.Stack, func(pc uint32) bool {
		size := z.Of(pc)
		if all++; size == 0 {
			unknown++
		}
		if known <= m.Deepest { // else the sum is not needed, and may overflow
			known += size
		}
		return true
	})
	if known > m.Deepest {
		return Stack{Unknown: m.Deepest, Frames: all, Conflict: true}
	}
	return Stack{Unknown: m.Deepest - known, Frames: unknown}
}

// Note says that the sizes of a stack conflict with its depth.
func Note(thread string) string {
	return fmt.Sprintf("thread %s: no frame sizes: their sum exceeds the depth of its stack", thread)
}
