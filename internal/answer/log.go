package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

// Log is a part of the events of a recording, in order, and of the marks among them.
type Log struct {
	Head
	FirstEvent uint64      `json:"first_event"` // the number of the first event that was looked at
	NextEvent  uint64      `json:"next_event"`  // and of the first one after those
	RangeFirst uint64      `json:"range_first_event"`
	RangeNext  uint64      `json:"range_next_event"`
	Events     []LogEvent  `json:"log"`
	Marks      []LogMarked `json:"log_marks"`
}

// LogMarked is a mark before an event.
type LogMarked struct {
	Mark   string `json:"mark"` // as --at takes it
	TimeNS int64  `json:"time_ns"`
	Before uint64 `json:"events_before"`
}

// LogEvent is an event. What does not apply to it is null or left out.
type LogEvent struct {
	Event      uint64       `json:"event"` // its number
	TimeNS     int64        `json:"time_ns"`
	Kind       string       `json:"kind"`
	Call       string       `json:"call"`
	Thread     Thread       `json:"thread"`
	Block      *uint64      `json:"number"` // of the allocation that it makes or ends
	Size       uint64       `json:"size"`
	Usable     *uint64      `json:"usable"`
	Address    string       `json:"address,omitempty"`
	OldAddress string       `json:"old_address,omitempty"` // of mremap and brk
	OldSize    uint64       `json:"old_size"`              // of mremap
	BornNS     *int64       `json:"born_ns"`               // of a deallocation: when the block was allocated
	BornBy     *Thread      `json:"born_by"`               // and by which thread
	Lifetime   *int64       `json:"lifetime_ns"`
	Realloc    bool         `json:"realloc"` // it is half of a reallocation
	InPlace    bool         `json:"in_place"`
	Temporary  bool         `json:"temporary_block"`
	Stack      FrameNumbers `json:"stack"`      // of the allocation, also of the deallocation that ends its block
	FreeStack  FrameNumbers `json:"free_stack"` // of the deallocation itself, if that was recorded
}

// NewLog makes the answer.
func NewLog(s *query.Source, l *query.Log) *Log {
	var stacks []uint32
	for i := range l.Events {
		stacks = append(stacks, l.Events[i].Stack, l.Events[i].FreeStack)
	}
	t := newFrameTable(l.Shown(s), stacks)
	j := &Log{Head: newHead(s, &l.Answer), FirstEvent: l.First, NextEvent: l.Next, RangeFirst: l.Begin,
		RangeNext: l.End, Events: make([]LogEvent, len(l.Events)), Marks: make([]LogMarked, len(l.Marks))}
	j.Frames = t.rows()
	j.Metrics, j.Total = []Metric{}, Values{}
	for i := range l.Events {
		j.Events[i] = newLogEvent(s, &l.Events[i], t)
	}
	for i, m := range l.Marks {
		j.Marks[i] = LogMarked{m.Name, m.Time, m.Before}
	}
	return j
}

func newLogEvent(s *query.Source, e *query.LoggedEvent, t *frameTable) LogEvent {
	j := LogEvent{Event: e.Number, TimeNS: e.Time, Kind: e.Kind.String(), Call: e.Func.String(),
		Thread: NewThread(s, e.Thread), Size: e.Size, OldSize: e.OldSize, Realloc: e.Flags&event.Realloc != 0,
		InPlace: e.Flags&event.InPlace != 0, Temporary: e.Flags&event.Temporary != 0, Stack: t.of(e.Stack),
		FreeStack: t.of(e.FreeStack)}
	if e.Ref != event.NoRef {
		j.Block = &e.Ref
	}
	if e.Flags&event.HasUsable != 0 {
		j.Usable = &e.Usable
	}
	if e.Addr != 0 {
		j.Address = hex(e.Addr)
	}
	if e.OldAddr != 0 {
		j.OldAddress = hex(e.OldAddr)
	}
	if e.Kind == event.Free {
		by, lifetime := NewThread(s, e.BornBy), e.Time-e.Born
		j.BornNS, j.BornBy, j.Lifetime = &e.Born, &by, &lifetime
	}
	return j
}
