package replay

import "github.com/heaptap/heaptap/internal/recording"

// dropping says why the allocations of a call stack are dropped.
type dropping uint8

const (
	kept         dropping = iota
	startsThread          // the player's threads start their own
	localStorage          // of a thread, which the loader makes when it is needed
)

// droppedBelow are functions below which memory for threads is allocated: the player's threads allocate theirs.
var droppedBelow = map[string]dropping{
	"pthread_create": startsThread, "__pthread_create_2_1": startsThread, "pthread_create@@GLIBC_2.34": startsThread,
	"_dl_allocate_tls": startsThread, "_dl_allocate_tls_init": startsThread, "allocate_dtv": startsThread,
	"__tls_get_addr": localStorage, "tls_get_addr_tail": localStorage, "_dl_resize_dtv": localStorage,
	"_dl_update_slotinfo": localStorage,
}

// dropped returns which call stacks are below such functions. A thread's own call stacks are not below the one that has
// started it: they begin in the thread.
func dropped(r *recording.Reader) []dropping {
	pcs := make(map[uint32]dropping)
	for pc := range r.PCs().All {
		for _, f := range r.Frames(pc) {
			if why := droppedBelow[f.Function]; why != kept {
				pcs[pc] = why
			}
		}
	}
	nodes := r.Nodes()
	last := uint32(0)
	for id := range nodes.All {
		last = max(last, id)
	}
	if len(pcs) == 0 || uint64(last) > 16*uint64(nodes.Len())+4096 {
		return nil
	}
	state, known := make([]dropping, last+1), make([]bool, last+1)
	var path []uint32
	for id := range nodes.All {
		path = path[:0]
		found := kept
		for at := id; ; {
			n, ok := nodes.Get(at)
			if !ok || at == 0 || int(at) >= len(state) || len(path) > len(state) {
				break
			}
			if known[at] {
				found = state[at]
				break
			}
			path = append(path, at)
			if found = pcs[n.PC]; found != kept {
				break
			}
			at = n.Parent
		}
		for _, at := range path {
			state[at], known[at] = found, true
		}
	}
	return state
}
