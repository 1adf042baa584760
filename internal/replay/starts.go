package replay

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/recording"
)

// starts say which thread started which. Allocators give memory of its own to a thread that allocates, and starting one
// takes memory. So a thread that only frees must not start others in a replay.
type starts struct {
	by    []uint32       // recorded threads that started others, in the order of their allocations for them
	ranks map[uint32]int // of recorded threads but the main one, in the order in which they were started
}

// startsOf knows of the order alone: the kernel numbers threads as they are started.
func startsOf(r *recording.Reader) starts {
	threads := r.Threads()
	order := make([]uint32, 0, len(threads))
	for i := range threads {
		if threads[i].TID != uint32(r.Process().PID) {
			order = append(order, uint32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(threads[a].TID, threads[b].TID) })
	s := starts{ranks: make(map[uint32]int, len(order))}
	for rank, thread := range order {
		s.ranks[thread] = rank
	}
	return s
}

// startThread plans the start of a stream's thread, by the one that started it in the program, as far as that is known,
// or by the main thread. (Where pthread_create finds a stack of a thread that has ended, it allocates nothing.)
func (p *planner) startThread(s *stream, time int64) error {
	by := p.file.streams[0]
	if rank, ok := p.starts.ranks[s.thread]; ok && rank < len(p.starts.by) {
		if i := int(p.starts.by[rank]); i < len(p.players) && p.players[i] != nil && p.players[i].ops > 0 {
			by = p.players[i]
		}
	}
	if err := p.enter(by, time); err != nil {
		return err
	}
	return p.file.add(by, opSpawn, s.number)
}
