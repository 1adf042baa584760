package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/spool"
)

// cutNode is newNode where call stacks have at most a given number of frames (--max-depth): the innermost ones stay, and what
// lies above is one root that all of them share. So a node of the agent's tree stands for itself only as the innermost
// frame of a stack; as a caller it may occur in many places. path has one node more than deepest if the stack has more; what
// lies above that is not looked at.
func (p *process) cutNode(path []spool.Step, deepest int) uint32 {
	up := uint32(0)
	if len(path) > deepest {
		path = path[:deepest]
		up = p.node(0, p.localPC(event.PC{Addr: event.CutAddr}), false)
	}
	for i := len(path) - 1; i >= 0; i-- {
		pc, ok := p.pc(path[i].PC)
		if !ok {
			return 0
		}
		up = p.node(up, pc, path[i].Truncated && up == 0)
	}
	if len(path) > 0 {
		p.nodeID = grown(p.nodeID, path[0].ID)
		p.nodeID[path[0].ID] = up
	}
	return up
}
