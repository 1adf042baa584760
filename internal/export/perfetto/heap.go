package perfetto

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/query"
)

// Field numbers of profiles and of the messages that they refer to.
const (
	profileDumps, profileContinued, profileIndex = 5, 6, 7
	dumpPID, dumpSamples, dumpFromStart          = 1, 2, 3
	dumpTime, dumpHeap                           = 9, 11
	dumpInterval, dumpFirstInterval              = 12, 13
	sampleStack, sampleBytes, sampleFreedBytes   = 1, 2, 3
	sampleAllocations, sampleFrees               = 5, 6
	internedFunctions, internedFrames            = 5, 6
	internedStacks, internedBuildIDs             = 7, 16
	internedPaths, internedSources               = 17, 18
	internedMappings                             = 19
	stringID, stringText                         = 1, 2
	mappingID, mappingBuildID                    = 1, 2
	mappingStart, mappingEnd, mappingPath        = 4, 5, 7
	frameID, frameFunction, frameMapping         = 1, 2, 3
	frameOffset, frameSource, frameLine          = 4, 5, 6
	stackID, stackFrames                         = 1, 2
	packetBytes                                  = 128 << 10 // a packet ends soon after it has reached this size
)

// heapName is the name that Perfetto's own profiler gives malloc's heap.
const heapName = "libc.malloc"

// heap writes the profiles. Ids of interned values are their index in the table plus 1; id 0 means none.
type heap struct {
	*trace
	index     uint64           // index of the next profile packet
	new       protobuf.Message // InternedData that is not yet written
	functions intern.Table[string]
	sources   intern.Table[string]
	paths     intern.Table[string]
	builds    intern.Table[string]
	mappings  intern.Table[mapping]
	frames    intern.Table[frame]
	stacks    intern.Table[string] // keys are the encoded ids of their frames
	framesAt  map[uint32][]uint64  // by pc, leaf to root
	ids       map[uint32]int       // index into stacks, by call stack of the recording
	modules   map[uint32]*event.Module
}

// mapping is a module in memory. A module that was loaded again at the same place has the same mapping.
type mapping struct {
	path, build uint64
	start, end  uint64
}

// frame is a frame of a call stack. An address has several frames if functions were inlined there.
type frame struct {
	function, source uint64
	mapping, offset  uint64
	line             uint32
}

func newHeap(t *trace) *heap {
	h := &heap{trace: t, framesAt: make(map[uint32][]uint64), ids: make(map[uint32]int),
		modules: make(map[uint32]*event.Module)}
	list := t.in.Reader.Modules()
	for i := range list {
		h.modules[list[i].ID] = &list[i]
	}
	return h
}

// moments writes the profiles at the peak and at the moment that was asked for, in the order of time. It leaves out
// moments at the end of the range, and those for which the recording has only sums.
func (h *heap) moments(ctx context.Context, end *query.StackTable) error {
	var cuts []uint64
	if _, ok := h.in.PeakTime(&end.Answer); ok {
		cuts = append(cuts, end.PeakAt)
	}
	if at := h.in.Query.At; at != nil && *at > end.From {
		cuts = append(cuts, *at)
	}
	slices.Sort(cuts)
	for _, cut := range slices.Compact(cuts) {
		if cut >= end.To {
			break
		}
		if err := h.between(ctx, end.From, cut); err != nil && !export.OnlySums(err) {
			return err
		}
	}
	return nil
}

// between writes the profile of the events between two cuts.
func (h *heap) between(ctx context.Context, from, to uint64) error {
	at, err := h.in.Reader.TimeAt(to)
	if err != nil {
		return err
	}
	q := h.in.Query
	q.Range = &query.Range{From: from, To: to}
	q.Metrics = []query.Metric{query.Bytes, query.Allocations, query.FreedBytes, query.Deallocations}
	t, err := query.Stacks(ctx, h.in.Source, &q)
	if err == nil {
		h.dump(t, at)
	}
	return err
}

// dump writes what each call stack did up to a moment, in as many packets as needed. The trace processor subtracts the
// values of the previous profile, call stack by call stack, so call stacks with the same frames must be merged.
func (h *heap) dump(t *query.StackTable, at int64) {
	sums := make([]query.Values, len(h.stacks.List()))
	for i := range t.Rows {
		r := &t.Rows[i]
		n := h.stack(r.Stack)
		if len(h.new.Bytes()) > packetBytes {
			h.flushInterned()
		}
		for len(sums) <= n {
			sums = append(sums, query.Values{})
		}
		v := &sums[n]
		v.Bytes, v.FreedBytes = v.Bytes+r.Bytes, v.FreedBytes+r.FreedBytes
		v.Allocations, v.Deallocations = v.Allocations+r.Allocations, v.Deallocations+r.Deallocations
	}
	var samples protobuf.Message
	for n := range sums {
		v := &sums[n]
		if v.Allocations == 0 && v.Deallocations == 0 {
			continue
		}
		var s protobuf.Message
		s.Uint(sampleStack, uint64(n)+1)
		s.Uint(sampleBytes, v.Bytes)
		s.Uint(sampleFreedBytes, v.FreedBytes)
		s.Uint(sampleAllocations, v.Allocations)
		s.Uint(sampleFrees, v.Deallocations)
		samples.Message(dumpSamples, &s)
		if len(samples.Bytes()) > packetBytes {
			h.profile(at, &samples, true)
		}
	}
	h.profile(at, &samples, false)
}

// flushInterned writes the new entries of the tables.
func (h *heap) flushInterned() {
	if len(h.new.Bytes()) > 0 {
		h.packet(func(p *protobuf.Message) { p.Message(packetInterned, &h.new) })
	}
	h.new.Reset()
}

func (h *heap) profile(at int64, samples *protobuf.Message, continued bool) {
	h.flushInterned()
	h.packet(func(p *protobuf.Message) {
		var dump, profile protobuf.Message
		dump.Uint(dumpPID, h.pid())
		dump.Bool(dumpFromStart, true)
		dump.SetUint(dumpTime, h.at(at))
		dump.String(dumpHeap, heapName)
		dump.Uint(dumpInterval, 1) // every byte is counted
		dump.Uint(dumpFirstInterval, 1)
		dump.Append(samples)
		profile.Message(profileDumps, &dump)
		profile.Bool(profileContinued, continued)
		profile.SetUint(profileIndex, h.index)
		p.SetUint(packetTime, h.at(at))
		p.Message(packetProfile, &profile)
	})
	h.index++
	samples.Reset()
}

// stack returns the index of a call stack in the table. Its frames begin at the root.
func (h *heap) stack(id uint32) int {
	if n, ok := h.ids[id]; ok {
		return n
	}
	var path []uint64
	h.in.PCs(id, func(pc uint32) bool {
		list, ok := h.framesAt[pc]
		if !ok {
			list = h.pc(nil, pc)
			h.framesAt[pc] = list
		}
		path = append(path, list...)
		return true
	})
	if path == nil {
		path = []uint64{h.frame(frame{function: h.string(&h.functions, internedFunctions, export.Unknown),
			mapping: h.mapping(0)})}
	}
	var frames protobuf.Message
	for i := len(path) - 1; i >= 0; i-- {
		frames.Uint(stackFrames, path[i])
	}
	n, added := h.stacks.Add(string(frames.Bytes()))
	if added {
		var m protobuf.Message
		m.Uint(stackID, uint64(n)+1)
		m.Append(&frames)
		h.new.Message(internedStacks, &m)
	}
	h.ids[id] = n
	return n
}

// pc appends the frames at a pc, leaf to root.
func (h *heap) pc(path []uint64, pc uint32) []uint64 {
	info, _ := h.in.Reader.PCs().Get(pc)
	for _, f := range h.in.Frames(pc) {
		offset := f.Address // without a file, addresses are those of the process
		if m := h.modules[info.Module]; m != nil {
			offset = f.Offset
		}
		if !info.Interrupted && offset > 0 {
			offset-- // from the return address into the call
		}
		fr := frame{mapping: h.mapping(info.Module), offset: offset, line: f.Line,
			function: h.string(&h.functions, internedFunctions, export.FrameName(&f))}
		if f.File != "" {
			fr.source = h.string(&h.sources, internedSources, f.File)
		}
		path = append(path, h.frame(fr))
	}
	return path
}

func (h *heap) frame(f frame) uint64 {
	n, added := h.frames.Add(f)
	if added {
		var m protobuf.Message
		m.Uint(frameID, uint64(n)+1)
		m.Uint(frameFunction, f.function)
		m.Uint(frameMapping, f.mapping)
		m.SetUint(frameOffset, f.offset)
		m.Uint(frameSource, f.source)
		m.Uint(frameLine, uint64(f.line))
		h.new.Message(internedFrames, &m)
	}
	return uint64(n) + 1
}

// mapping returns the id of a module's mapping. Code outside of any file has one, too, because older readers reject
// frames without.
func (h *heap) mapping(id uint32) uint64 {
	m := h.modules[id]
	if m == nil {
		m = &event.Module{Path: "[no file]", End: ^uint64(0) >> 1}
	}
	key := mapping{path: h.string(&h.paths, internedPaths, m.Path), start: m.Start, end: m.End}
	if len(m.BuildID) > 0 {
		key.build = h.string(&h.builds, internedBuildIDs, string(m.BuildID))
	}
	n, added := h.mappings.Add(key)
	if added {
		var out protobuf.Message
		out.Uint(mappingID, uint64(n)+1)
		out.Uint(mappingBuildID, key.build)
		out.Uint(mappingStart, key.start)
		out.Uint(mappingEnd, key.end)
		out.Uint(mappingPath, key.path)
		h.new.Message(internedMappings, &out)
	}
	return uint64(n) + 1
}

// string returns the id of a string in a table.
func (h *heap) string(t *intern.Table[string], field int, s string) uint64 {
	if field != internedBuildIDs { // build ids are bytes
		s = valid(s)
	}
	n, added := t.Add(s)
	if added {
		var m protobuf.Message
		m.Uint(stringID, uint64(n)+1)
		m.SetString(stringText, s)
		h.new.Message(field, &m)
	}
	return uint64(n) + 1
}
