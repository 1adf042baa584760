package view

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/answer"
)

// stackLine is the overview's line on stacks: the thread whose stack was deepest, and where.
func (r *report) stackLine() {
	if len(r.p.StackMemory) == 0 || r.Selection != nil {
		return
	}
	m := &r.p.StackMemory[0]
	if m.Most() == 0 {
		return
	}
	text := r.bold(r.size(m.Most())) + " at most"
	if m.Touched == 0 {
		text = r.bold(r.size(m.Most())) + " at events"
	}
	if m.Size > 0 {
		text += " of " + r.size(m.Size)
	}
	if len(r.p.StackMemory) > 1 && int(m.Thread) < len(r.p.Threads) {
		t := &r.p.Threads[m.Thread]
		text += fmt.Sprintf(" in thread %s (%d)", clean(t.Name), t.TID)
	}
	r.line("stack", text+r.faint("   heaptap threads"))
}

// stackMemory writes a table of the threads' stacks, and where the deepest ones were.
func (a *answerText) stackMemory() {
	list, left := answer.Cut(a.Page, a.p.StackMemory)
	if len(list) == 0 {
		return
	}
	a.printf("\n%s  %s\n", a.title("STACK MEMORY"),
		a.faint("in use at events; touched by any call; that the stack may take"))
	a.printf("%s\n", a.faint(fmt.Sprintf("  %12s %12s %12s  %-22s %s", "at events", "touched", "size", "thread",
		"deepest event")))
	for i := range list {
		m := &list[i]
		a.printf("  %s %s %s  %s %s\n", a.bold(padLeft(a.size(m.Deepest), 12)), padLeft(a.orUnknown(m.Touched), 12),
			padLeft(a.orUnknown(m.Size), 12), padRight(middle(threadName(a.s, m.Thread), 22), 22),
			a.chain(m.Stack, max(nameWidth, a.renderer.Width-66)))
	}
	a.more(left)
}

func (a *answerText) orUnknown(n uint64) string {
	if n == 0 {
		return "unknown"
	}
	return a.size(n)
}
