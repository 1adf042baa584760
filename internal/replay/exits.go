package replay

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// exit is the end of a recorded thread. Allocators flush the thread's cache then, and give its memory to others.
type exit struct {
	time   int64
	thread uint32
}

// exitSkew is by how many ns a thread's last events may be written later than its exit. The recorder orders what
// threads do within 2,000 ns by evidence, not by clocks, and an event gets no earlier time than those before it.
const exitSkew = 5000

// exitsOf returns the known exits, in their order, each as late as its thread's last event can be.
func exitsOf(threads []event.Thread) (list []exit) {
	for i := range threads {
		if at := threads[i].Ended(); at != nil {
			list = append(list, exit{*at + exitSkew, uint32(i)})
		}
	}
	slices.SortStableFunc(list, func(a, b exit) int { return cmp.Compare(a.time, b.time) })
	return list
}

// exitBefore plans the exits before a time.
func (p *planner) exitBefore(time int64) error {
	for len(p.exits) > 0 && p.exits[0].time < time {
		x := p.exits[0]
		p.exits = p.exits[1:]
		if err := p.exit(x); err != nil {
			return err
		}
	}
	return nil
}

// exit plans the end of a thread. The thread that has the operation before it waits until it is gone, or the main
// thread, if that was the ending thread's own. Both have played all that comes before, so that nothing waits for them.
func (p *planner) exit(x exit) error {
	if int(x.thread) >= len(p.players) {
		return nil
	}
	s, by := p.players[x.thread], p.at
	if s == nil || !s.stays {
		return nil
	}
	if by == s {
		by = p.file.streams[0]
	}
	if err := p.enter(by, x.time); err != nil {
		return err
	}
	// What a damaged recording says of the thread later is another one's.
	p.players[x.thread] = nil
	if err := p.file.leave(s); err != nil {
		return err
	}
	return p.file.add(by, opEnd, s.number)
}
