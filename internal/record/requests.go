package record

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// Requests come by the run's socket (see package control). They are handed to the drain, to which the spools belong.

// request is a request on its way to the drain.
type request struct {
	control.Request
	reply chan func() control.Reply // what to answer; it may wait for workers
}

// requests is the drain's end of the socket.
type requests struct {
	pending chan request
	over    chan struct{} // the drain takes no more
	ring    func()        // wakes the drain
}

func newRequests() requests { return requests{make(chan request, 16), make(chan struct{}), func() {}} }

// answer is called by the socket's goroutines.
func (r *requests) answer(q control.Request) control.Reply {
	ended := control.Reply{Error: "the recorder is about to end"}
	w := request{q, make(chan func() control.Reply, 1)}
	select {
	case r.pending <- w:
		r.ring()
	case <-r.over:
		return ended
	}
	select {
	case f := <-w.reply:
		return f()
	case <-r.over:
		return ended
	}
}

// handleRequests does what was asked for since the last time.
func (r *run) handleRequests() {
	for {
		select {
		case q := <-r.requests.pending:
			q.reply <- r.do(&q.Request)
		default:
			return
		}
	}
}

// addressed is a process that a request is about.
type addressed struct {
	o    *source
	slot uint32
	m    *member
}

// addressees are the processes that a request is about: a process, or, if it is not known by its id, all of its spool;
// without one, all of the run.
func (r *run) addressees(q *control.Request) (list []addressed) {
	exact := false
	for _, o := range r.sources {
		if o.closed || q.Spool != "" && filepath.Base(o.spool.Path()) != q.Spool {
			continue
		}
		for slot, m := range o.members {
			if m.over {
				continue
			}
			list = append(list, addressed{o, uint32(slot), m})
			exact = exact || q.Spool != "" && m.PID == q.PID
		}
	}
	if !exact {
		return list
	}
	var one []addressed
	for _, a := range list {
		if a.m.PID == q.PID {
			one = append(one, a)
		}
	}
	return one
}

// do does what a request asks for, as far as that needs the drain, and returns a function that gives the answer.
func (r *run) do(q *control.Request) func() control.Reply {
	fail := func(format string, args ...any) func() control.Reply {
		return func() control.Reply { return control.Reply{Error: fmt.Sprintf(format, args...)} }
	}
	list := r.addressees(q)
	itself := func() bool { return q.TID == 0 || len(list) == 1 && list[0].m.PID == q.PID }
	if len(list) == 0 || !itself() { // it may have just begun
		r.scanSpools()
		r.round()
		list = r.addressees(q)
	}
	if !itself() {
		return fail("the process that asks is not being recorded")
	}
	if len(list) == 0 {
		return fail("no process of this run is being recorded any more")
	}
	switch q.Verb {
	case control.Status:
	case control.Mark:
		if strings.TrimSpace(q.Text) == "" {
			return fail("a mark needs a name")
		}
		for _, a := range list {
			a.o.w.queue.push(&markSet{a.slot, q.Text, event.FromUser, clock.Monotonic()})
		}
	case control.Start, control.Stop, control.Mode:
		for _, a := range list {
			mode, ok := a.o.modeFor(q)
			if !ok {
				return fail("%q is not a mode to change to; write sampled or exact", q.Text)
			}
			if err := a.o.spool.SetMode(mode); err != nil {
				return fail("%v", err)
			}
		}
		r.round() // it notices the change
	case control.Flush:
		return r.flush(list, nil)
	case control.Dump, control.Threshold:
		return r.dump(list, q)
	default:
		return fail("unknown request %q; is the recorder of another version?", q.Verb)
	}
	statuses := r.statuses(list)
	return func() control.Reply { return control.Reply{Processes: statuses()} }
}

// flush has everything written that has happened up to now. The request's stack is one of the first process's: it
// becomes the recording's.
func (r *run) flush(list []addressed, q *control.Request) func() control.Reply {
	r.round()
	r.round() // what came in the first one is final by the second
	var wait sync.WaitGroup
	errs := make([]error, len(list))
	for i, a := range list {
		wait.Add(1)
		m := &flushWanted{slot: a.slot, done: func(_ uint32, err error) { errs[i] = err; wait.Done() }}
		if i == 0 && q != nil {
			m.stack = q.Stack
			m.done = func(n uint32, err error) { q.Stack, errs[i] = n, err; wait.Done() }
			if slices.Contains(strings.Fields(q.Text), "frames") {
				m.nodes = &q.Nodes
			}
		}
		a.o.w.queue.push(m)
	}
	statuses := r.statuses(list)
	return func() control.Reply {
		wait.Wait()
		processes := statuses()
		for i, err := range errs {
			if err != nil {
				processes[i].Error = err.Error()
			}
		}
		return control.Reply{Processes: processes}
	}
}

// dump has a profile of all up to now printed, or what a threshold's monitor asks for done.
func (r *run) dump(list []addressed, q *control.Request) func() control.Reply {
	if len(list) != 1 || r.config.Dump == nil {
		return func() control.Reply { return control.Reply{Error: "a dump is of one process"} }
	}
	request := *q
	flushed := r.flush(list, &request)
	return func() control.Reply {
		reply := flushed()
		one := &reply.Processes[0]
		if one.Error != "" {
			return control.Reply{Error: one.Error}
		}
		text, err := r.config.Dump(list[0].o.w.addressOf(list[0].slot), request)
		if err != nil {
			return control.Reply{Error: err.Error()}
		}
		return control.Reply{Text: text}
	}
}

// modeNames are the modes' names for users.
var modeNames = map[uint8]string{
	wire.ModeExact: "exact", wire.ModeSampled: "sampled", wire.ModeCount: "count", wire.ModeOff: "off",
}

// modeFor is the mode that a request asks for.
func (o *source) modeFor(q *control.Request) (mode uint8, ok bool) {
	switch q.Verb {
	case control.Stop:
		return wire.ModeOff, true
	case control.Start:
		mode, _ = o.spool.Mode()
		if mode != wire.ModeOff {
			return mode, true
		}
		return cmp.Or(o.modeBefore, o.modeAsked(), wire.ModeExact), true
	}
	switch q.Text {
	case "exact":
		return wire.ModeExact, true
	case "sampled":
		return wire.ModeSampled, true
	}
	return 0, false
}

// modeAsked is the mode that the program's environment asks for, 0 if it does not.
func (o *source) modeAsked() uint8 {
	for _, e := range o.w.meta.Env {
		for mode, name := range modeNames {
			if mode != wire.ModeOff && e == "HEAPTAP_MODE="+name {
				return mode
			}
		}
	}
	return 0
}

// watchMode marks where the mode was changed, by this recorder or by the program.
func (o *source) watchMode() {
	mode, number := o.spool.Mode()
	if number == o.modeNumber {
		return
	}
	o.modeNumber = number
	if mode != wire.ModeOff {
		o.modeBefore = mode
	}
	name := modeNames[mode]
	if name == "" {
		name = fmt.Sprint(mode)
	}
	o.sink.add(&markSet{allSlots, "mode " + name, event.FromMode, clock.Monotonic()})
}

// setMarks sets the marks of Config.MarkEvery and Config.Marks.
func (r *run) setMarks(now time.Time) {
	if every := r.config.MarkEvery; every > 0 && now.Sub(r.markedAt) >= every {
		r.markedAt = r.markedAt.Add(now.Sub(r.markedAt) / every * every)
		r.markAll("every "+every.String(), event.FromTimer)
	}
	// A signal that comes before there is a recording to mark waits for it.
	for r.config.Marks != nil && slices.ContainsFunc(r.sources, func(o *source) bool { return o.known > 0 }) {
		select {
		case name, ok := <-r.config.Marks:
			if !ok {
				r.config.Marks = nil
				return
			}
			r.markAll(name, event.FromSignal)
		default:
			return
		}
	}
}

// markAll sets a mark in every recording.
func (r *run) markAll(name string, source event.MarkSource) {
	for _, o := range r.sources {
		if !o.closed {
			o.w.queue.push(&markSet{allSlots, name, source, clock.Monotonic()})
		}
	}
}
