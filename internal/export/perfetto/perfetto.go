// Package perfetto writes Perfetto traces: a message Trace of Perfetto's public protocol, which its viewer and its
// trace processor read.
//
// A trace has a process with counters (live, allocated and resident memory), instants (the peak, the end), and heap
// profiles. A heap profile has what each call stack allocated and freed up to a moment; what it shows as not freed is
// live at that moment. There is one at the peak, one at the moment that was asked for, and one at the end.
//
// All packets form one sequence. Within it, strings, mappings, frames and call stacks have ids, which are defined in
// packets before those that use them. Times are those of the wall clock; a clock snapshot at the beginning says that
// all other clocks equal it.
package perfetto

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is a Perfetto trace.
var Format = export.Format{
	Name:      "perfetto",
	Tool:      "ui.perfetto.dev, trace_processor",
	Extension: ".perfetto-trace",
	Binary:    true,
	Keeps: "allocated and freed bytes and blocks by call stack, exact, up to the peak, --at and the end, with " +
		"modules, build ids, inlined functions, files and lines; live bytes and blocks, allocations, and the " +
		"resident set over time; the peak, the end and marks as instants",
	Loses: "single events; other metrics; threads",
	Write: write,
}

// steps is the number of points of a counter.
const steps = 1000

// Field numbers and constants of Perfetto's public protocol, which never renumbers fields.
const (
	tracePacket                                 = 1
	packetClocks, packetTime                    = 6, 8
	packetSequence, packetEvent                 = 10, 11
	packetInterned, packetFlags                 = 12, 13
	packetProfile, packetTrack                  = 37, 60
	flagCleared, flagNeeded                     = 1, 2
	clocksClock, clocksPrimary                  = 1, 2
	clockID, clockTime                          = 1, 2
	clockRealtime, clockMonotonic               = 1, 3
	clockMonotonicCoarse, clockBoot             = 4, 6
	trackUUID, trackName                        = 1, 2
	trackProcess, trackParent, trackCounter     = 3, 5, 8
	processPID, processArgs, processName        = 1, 2, 6
	counterUnit, unitCount, unitBytes           = 3, 2, 3
	eventType, eventTrack                       = 9, 11
	eventCategory, eventName, eventCounter      = 22, 23, 30
	eventNotes                                  = 4
	noteNumber, noteText, noteName              = 3, 6, 10
	typeInstant, typeCounter                    = 3, 4
	sequence                                    = 1
	processTrack, liveTrack, blocksTrack        = 1, 2, 3
	allocationsTrack, bytesTrack, residentTrack = 4, 5, 6
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t := &trace{w: w, in: in, start: max(in.Reader.Process().Started, 0)}
	t.head()
	end, err := in.Stacks(ctx, query.Bytes, query.Allocations, query.FreedBytes, query.Deallocations, query.Peak)
	if err != nil {
		return err
	}
	if err := t.counters(ctx, &end.Answer); err != nil {
		return err
	}
	h := newHeap(t)
	if err := h.moments(ctx, end); err != nil {
		return err
	}
	h.dump(end, end.Begin+end.Span)
	t.instants(&end.Answer)
	return t.err
}

// trace writes packets one after the other.
type trace struct {
	w     io.Writer
	in    *export.Input
	start int64 // wall clock of the recording's start, ns since 1970
	err   error
	begun bool
}

// packet writes a packet of the sequence; fill adds the contents.
func (t *trace) packet(fill func(p *protobuf.Message)) {
	var p, out protobuf.Message
	fill(&p)
	p.Uint(packetSequence, sequence)
	flags := uint64(flagNeeded)
	if !t.begun {
		flags, t.begun = flags|flagCleared, true
	}
	p.Uint(packetFlags, flags)
	out.Message(tracePacket, &p)
	if t.err == nil {
		_, t.err = t.w.Write(out.Bytes())
	}
}

// at converts a time of the recording to a time of the trace.
func (t *trace) at(ns int64) uint64 { return uint64(t.start + max(ns, 0)) }

// pid returns the process id. A merged recording gets 1, because 0 would be the kernel's idle process.
func (t *trace) pid() uint64 { return uint64(max(t.in.Reader.Process().PID, 1)) }

// head writes the packets of the clocks, the process and its counters.
func (t *trace) head() {
	t.packet(func(p *protobuf.Message) {
		var clocks protobuf.Message
		for _, id := range []uint64{clockRealtime, clockMonotonic, clockMonotonicCoarse, clockBoot} {
			var c protobuf.Message
			c.Uint(clockID, id)
			c.SetUint(clockTime, t.at(0))
			clocks.Message(clocksClock, &c)
		}
		clocks.Uint(clocksPrimary, clockBoot)
		p.SetUint(packetTime, t.at(0))
		p.Message(packetClocks, &clocks)
	})
	process := t.in.Reader.Process()
	t.track(processTrack, func(m *protobuf.Message) {
		var p protobuf.Message
		p.Uint(processPID, t.pid())
		for _, arg := range process.Args {
			p.SetString(processArgs, valid(arg))
		}
		p.String(processName, valid(t.in.Program()))
		m.Message(trackProcess, &p)
	})
	for _, c := range []struct {
		track, unit uint64
		name        string
	}{
		{liveTrack, unitBytes, "live bytes"}, {blocksTrack, unitCount, "live blocks"},
		{allocationsTrack, unitCount, "allocations"},
		{bytesTrack, unitBytes, "allocated bytes"}, {residentTrack, unitBytes, "resident set"},
	} {
		t.track(c.track, func(m *protobuf.Message) {
			var counter protobuf.Message
			counter.Uint(counterUnit, c.unit)
			m.String(trackName, c.name)
			m.Uint(trackParent, processTrack)
			m.Message(trackCounter, &counter)
		})
	}
}

func (t *trace) track(uuid uint64, fill func(m *protobuf.Message)) {
	t.packet(func(p *protobuf.Message) {
		var m protobuf.Message
		m.Uint(trackUUID, uuid)
		fill(&m)
		p.Message(packetTrack, &m)
	})
}

// point is a counter's value at a time.
type point struct {
	at    int64
	track uint64
	value uint64
}

// counters writes the values of the counters, in the order of time. Allocations count from the beginning of the range.
func (t *trace) counters(ctx context.Context, a *query.Answer) error {
	s, err := t.in.Develop(ctx, steps)
	if err != nil && !export.OnlySums(err) {
		return err
	}
	var list []point
	if err == nil {
		var allocations, bytes uint64
		for i, at := range s.Times {
			p := &s.All.Points[i]
			allocations, bytes = allocations+p.Allocations, bytes+p.Bytes
			list = append(list, point{at, liveTrack, p.Live}, point{at, blocksTrack, p.LiveBlocks},
				point{at, allocationsTrack, allocations}, point{at, bytesTrack, bytes})
		}
	}
	if at, ok := t.in.PeakTime(a); ok {
		list = append(list, point{at, liveTrack, a.Total.PeakBytes})
	}
	for _, r := range t.in.Reader.Samples() {
		if r.RSS >= 0 && r.Time >= a.Begin && r.Time <= a.Begin+a.Span {
			list = append(list, point{r.Time, residentTrack, uint64(r.RSS)})
		}
	}
	slices.SortStableFunc(list, func(a, b point) int { return int(min(max(a.at-b.at, -1), 1)) })
	for _, c := range list {
		t.event(c.at, c.track, typeCounter, func(m *protobuf.Message) { m.SetUint(eventCounter, c.value) })
	}
	return nil
}

func (t *trace) event(at int64, track, typ uint64, fill func(m *protobuf.Message)) {
	t.packet(func(p *protobuf.Message) {
		var m protobuf.Message
		m.Uint(eventType, typ)
		m.Uint(eventTrack, track)
		fill(&m)
		p.SetUint(packetTime, t.at(at))
		p.Message(packetEvent, &m)
	})
}

// instants writes the named moments: the peak, marks and the end. The facts about the recording are instants, too.
func (t *trace) instants(a *query.Answer) {
	instant := func(at int64, name string, notes ...*protobuf.Message) {
		t.event(at, processTrack, typeInstant, func(m *protobuf.Message) {
			for _, n := range notes {
				m.Message(eventNotes, n)
			}
			m.SetString(eventCategory, "heaptap")
			m.String(eventName, valid(name))
		})
	}
	if at, ok := t.in.PeakTime(a); ok {
		instant(at, "peak", number("bytes", a.Total.PeakBytes), number("blocks", a.Total.PeakBlocks))
	}
	marks, names := a.Marks(t.in.Source)
	for i := range marks {
		instant(marks[i].Time, names[i], text("by", marks[i].Source.String()))
	}
	for _, fact := range t.in.Facts() {
		name, value, _ := strings.Cut(fact, ": ")
		instant(a.Begin, name, text("value", value))
	}
	if e, ok := t.in.Reader.Ending(); ok && e.End >= a.Begin && e.End <= a.Begin+a.Span {
		instant(e.End, "end", text("status", export.EndingText(&e)))
	}
}

func number(name string, v uint64) *protobuf.Message {
	var m protobuf.Message
	m.SetUint(noteNumber, v)
	m.String(noteName, name)
	return &m
}

func text(name, v string) *protobuf.Message {
	var m protobuf.Message
	m.SetString(noteText, valid(v))
	m.String(noteName, name)
	return &m
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
