// Package pprof writes pprof profiles: gzipped messages of google/pprof's profile.proto.
//
// A call stack of the recording becomes a sample, an address on it a location, and the functions inlined there are
// lines of that location. Values are exact counts, not samples to be scaled.
package pprof

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	profiles "github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is a pprof profile.
var Format = export.Format{
	Name:      "pprof",
	Tool:      "go tool pprof, Pyroscope, Parca, Grafana, speedscope",
	Extension: ".pb.gz",
	Binary:    true,
	Keeps: "any metrics that sum up, exact, by call stack with addresses, inlined functions, files and lines; " +
		"modules with build ids; threads, size classes, allocation functions or regions as labels (--by); when it " +
		"began and how long it took",
	Loses: "events and times of single blocks; own peaks, lifetimes and other metrics that do not sum up",
	In: "sums by call stack: alloc_*, inuse_*, peak_*, leaked_*, temporary_*, free_*; addresses, inlined " +
		"functions, lines, modules, build ids; what threads allocated",
	Metrics: defaults,
	By:      export.GroupingsOfStacks,
	Write:   write,
}

var defaults = []query.Metric{query.Allocations, query.Bytes, query.LiveBlocks, query.Live, query.PeakBlocks,
	query.Peak, query.LeakedBlocks, query.Leaked, query.Temporary, query.TemporaryBytes}

// typeNames are the names of metrics in pprof. The first four are those of Go's heap profiles, which other tools know.
var typeNames = map[query.Metric]string{
	query.Allocations: "alloc_objects", query.Bytes: "alloc_space",
	query.LiveBlocks: "inuse_objects", query.Live: "inuse_space",
	query.PeakBlocks: "peak_objects", query.Peak: "peak_space",
	query.LeakedBlocks: "leaked_objects", query.Leaked: "leaked_space",
	query.Temporary: "temporary_objects", query.TemporaryBytes: "temporary_space",
	query.Deallocations: "free_objects", query.FreedBytes: "free_space",
}

// Field numbers of profile.proto.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileStrings     = 6
	profileTime        = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileComment     = 13
	profileDefaultType = 14
	valueTypeType      = 1
	valueTypeUnit      = 2
	sampleLocations    = 1
	sampleValues       = 2
	sampleLabel        = 3
	labelKey           = 1
	labelText          = 2
	labelNumber        = 3
	labelUnit          = 4
	mappingID          = 1
	mappingStart       = 2
	mappingLimit       = 3
	mappingOffset      = 4
	mappingFile        = 5
	mappingBuildID     = 6
	mappingFunctions   = 7
	mappingFilenames   = 8
	mappingLines       = 9
	mappingInlined     = 10
	locationID         = 1
	locationMapping    = 2
	locationAddress    = 3
	locationLine       = 4
	lineFunction       = 1
	lineNumber         = 2
	functionID         = 1
	functionName       = 2
	functionSystemName = 3
	functionFile       = 4
)

// unknownPC stands for the pc of an unknown call stack. No pc of a recording has this number.
const unknownPC = ^uint32(0)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.Stacks(ctx)
	if err != nil {
		return err
	}
	return writeRows(w, in, t, t.Rows, false)
}

// Part is a profile of one group of blocks.
type Part struct {
	Labels  []export.Label // describe the group; none: all blocks
	Profile []byte
}

// Parts returns a profile for each group of blocks; if the question does not group, a single one. It is for servers
// that drop the labels of samples, and that look up the names of unnamed functions. The labels of a part replace those
// of its samples.
func Parts(ctx context.Context, in *export.Input) (list []Part, err error) {
	t, err := in.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	for rows := t.Rows; len(rows) > 0 || list == nil; {
		n := len(rows)
		part := Part{}
		if in.Query.By.OfBlocks() && n > 0 {
			part.Labels = partLabels(in, rows[0].Label)
			if end := slices.IndexFunc(rows, func(r query.StackRow) bool { return r.Label != rows[0].Label }); end > 0 {
				n = end
			}
		}
		var b bytes.Buffer
		if err := writeRows(&b, in, t, rows[:n], true); err != nil {
			return nil, err
		}
		part.Profile = b.Bytes()
		list = append(list, part)
		rows = rows[n:]
	}
	return list, nil
}

// partLabels returns the labels that describe a part's blocks.
func partLabels(in *export.Input, label uint32) []export.Label {
	by := in.Query.By
	list := []export.Label{{Name: labelNames[by], Value: escape.Terminal(in.LabelName(label))}}
	if threads := in.Reader.Threads(); by == query.ByThread && int64(label) < int64(len(threads)) {
		list = append(list, export.Label{Name: "thread_id", Value: fmt.Sprint(threads[label].TID)})
	}
	return list
}

// labelNames are the keys of the labels that name groups of blocks.
var labelNames = map[query.By]string{query.ByThread: "thread", query.BySizeClass: "size",
	query.ByAllocation: "allocator", query.ByRegion: "region"}

// writeRows writes a profile of some rows of a table: one of Parts if part is set, else the whole.
func writeRows(w io.Writer, in *export.Input, t *query.StackTable, rows []query.StackRow, part bool) error {
	z := gzip.NewWriter(w)
	p := newProfile(z, in)
	p.part = part
	p.head(t)
	for i := range rows {
		p.sample(t, &rows[i])
	}
	p.tables()
	if p.err != nil {
		return p.err
	}
	return z.Close()
}

// profile is a profile that is being written: samples first, then the tables that they refer to.
type profile struct {
	w         io.Writer
	in        *export.Input
	err       error
	one       protobuf.Message // a field of the profile, until it is written
	texts     intern.Table[string]
	functions intern.Table[function]
	locations intern.Table[uint32] // pcs
	path      []uint64
	values    []uint64
	part      bool // the profile is one of Parts
}

type function struct{ name, system, file uint64 }

func newProfile(w io.Writer, in *export.Input) *profile {
	p := &profile{w: w, in: in}
	p.texts.ID("") // must be the first
	return p
}

// emit writes the field in p.one.
func (p *profile) emit() {
	if p.err == nil {
		_, p.err = p.w.Write(p.one.Bytes())
	}
	p.one.Reset()
}

// text returns the index of a text. Ids in the other tables are indexes plus 1: Parca requires them to have no gaps.
func (p *profile) text(s string) uint64 { return uint64(p.texts.ID(escape.Terminal(s))) }

func (p *profile) valueType(name string, unit query.Unit) *protobuf.Message {
	var m protobuf.Message
	m.Uint(valueTypeType, p.text(name))
	m.Uint(valueTypeUnit, p.text(unitName(unit)))
	return &m
}

func unitName(u query.Unit) string {
	if u == query.Nanoseconds {
		return "nanoseconds"
	}
	return u.String()
}

func typeName(m query.Metric) string {
	if name, ok := typeNames[m]; ok {
		return name
	}
	return m.String()
}

// head writes everything that precedes the samples: types, period, time and comments.
func (p *profile) head(t *query.StackTable) {
	for _, m := range t.Metrics {
		p.one.Message(profileSampleType, p.valueType(typeName(m), m.Unit()))
	}
	p.one.Message(profilePeriodType, p.valueType("space", query.ByteCount))
	p.one.Int(profilePeriod, 1)
	period := p.in.PeriodOf(&t.Answer)
	if started := p.in.Reader.Process().Started; started > 0 {
		p.one.Int(profileTime, started+period.Begin)
	}
	p.one.Int(profileDuration, period.Span)
	for _, fact := range p.in.Facts() {
		p.one.SetUint(profileComment, p.text(fact))
	}
	p.one.Uint(profileDefaultType, p.text(typeName(p.first(t))))
	p.emit()
}

// first returns the metric that viewers show first: the first one of --metric; else, with --at, what is live then; else
// the peak.
func (p *profile) first(t *query.StackTable) query.Metric {
	switch {
	case len(p.in.Query.Metrics) != len(defaults) || p.in.Query.Metrics[0] != defaults[0]:
		return t.Metrics[0]
	case p.in.Query.At != nil:
		return query.Live
	}
	return query.Peak
}

// sample writes a call stack and its values.
func (p *profile) sample(t *query.StackTable, r *query.StackRow) {
	p.path, p.values = p.path[:0], p.values[:0]
	p.in.PCs(r.Stack, func(pc uint32) bool {
		if len(p.in.Frames(pc)) > 0 {
			p.path = append(p.path, p.location(pc))
		}
		return true
	})
	if len(p.path) == 0 {
		p.path = append(p.path, p.location(unknownPC))
	}
	for _, m := range t.Metrics {
		v, _ := m.Integer(&r.Values)
		p.values = append(p.values, v)
	}
	var s protobuf.Message
	s.Packed(sampleLocations, p.path)
	s.Packed(sampleValues, p.values)
	if !p.part && p.in.Query.By.OfBlocks() {
		p.label(&s, r.Label)
	}
	p.one.Message(profileSample, &s)
	p.emit()
}

// label adds labels that describe a sample's blocks.
func (p *profile) label(s *protobuf.Message, label uint32) {
	groups := p.in.GroupsOfLabel(p.in.Query.By, label)
	text := func(key, value string) {
		var m protobuf.Message
		m.Uint(labelKey, p.text(key))
		m.Uint(labelText, p.text(value))
		s.Message(sampleLabel, &m)
	}
	number := func(key, unit string, value uint64) {
		var m protobuf.Message
		m.Uint(labelKey, p.text(key))
		m.Uint(labelNumber, value)
		m.Uint(labelUnit, p.text(unit))
		s.Message(sampleLabel, &m)
	}
	g := groups[0]
	switch g.By {
	case query.ByThread:
		text(labelNames[g.By], p.in.GroupName(&g))
		if list := p.in.Reader.Threads(); int64(g.Thread) < int64(len(list)) {
			number("thread_id", "", uint64(list[g.Thread].TID))
		}
	case query.BySizeClass:
		low, _ := query.SizeClass(g.Class)
		text(labelNames[g.By], p.in.GroupName(&g))
		number("bytes", "bytes", low)
	case query.ByAllocation:
		text(labelNames[g.By], g.Func.String())
	case query.ByRegion:
		for i := range groups { // a key may have several values
			text(labelNames[g.By], p.in.GroupName(&groups[i]))
		}
	}
}

// location returns the id of a pc's location.
func (p *profile) location(pc uint32) uint64 { return uint64(p.locations.ID(pc)) + 1 }

// tables writes the tables that the samples refer to.
func (p *profile) tables() {
	code := p.writeLocations()
	for _, m := range code.modules {
		var out protobuf.Message
		out.Uint(mappingID, code.ids[m.ID])
		at := code.places.Of(&m)
		out.Uint(mappingStart, at.Start)
		out.Uint(mappingLimit, at.Limit)
		out.Uint(mappingOffset, at.Offset)
		out.Uint(mappingFile, p.text(m.Path))
		out.Uint(mappingBuildID, p.text(hex.EncodeToString(m.BuildID)))
		// A module with named functions needs no symbols; for others, pprof may look for some.
		for _, field := range []int{mappingFunctions, mappingFilenames, mappingLines, mappingInlined} {
			out.Bool(field, code.named[m.ID])
		}
		p.one.Message(profileMapping, &out)
		p.emit()
	}
	for i, f := range p.functions.List() {
		var out protobuf.Message
		out.Uint(functionID, uint64(i+1))
		out.Uint(functionName, f.name)
		out.Uint(functionSystemName, f.system)
		out.Uint(functionFile, f.file)
		p.one.Message(profileFunction, &out)
		p.emit()
	}
	for _, s := range p.texts.List() {
		p.one.SetString(profileStrings, s)
		p.emit()
	}
}

// mappings are the modules that have code in a profile.
type mappings struct {
	modules []event.Module    // in the order of the profile
	ids     map[uint32]uint64 // of mappings, by module id
	places  export.Mappings
	named   map[uint32]bool // by module id: some function has a name
}

// usedModules returns the modules that the locations are in, numbered.
func (p *profile) usedModules() *mappings {
	code := &mappings{ids: make(map[uint32]uint64), places: make(export.Mappings), named: make(map[uint32]bool)}
	for _, id := range p.locations.List() {
		if pc, ok := p.in.Reader.PCs().Get(id); ok && id != unknownPC && pc.Module != 0 {
			code.places.Add(pc)
		}
	}
	for _, m := range p.in.Modules() {
		if _, used := code.places[m.ID]; used {
			code.modules = append(code.modules, m)
			code.ids[m.ID] = uint64(len(code.modules))
		}
	}
	return code
}

// writeLocations writes the locations and returns the modules in which they are.
func (p *profile) writeLocations() *mappings {
	code := p.usedModules()
	for i, id := range p.locations.List() {
		var out protobuf.Message
		out.Uint(locationID, uint64(i+1))
		switch id {
		case unknownPC:
			out.Message(locationLine, p.line(&profiles.Frame{Function: export.Unknown}))
		case export.CutPC:
			out.Message(locationLine, p.line(&profiles.Frame{Function: export.CutName}))
		default:
			pc, _ := p.in.Reader.PCs().Get(id)
			out.Uint(locationMapping, code.ids[pc.Module])
			out.Uint(locationAddress, export.CallAddress(pc))
			for _, f := range p.in.Frames(id) {
				if p.part && f.Function == "" {
					continue
				}
				code.named[pc.Module] = code.named[pc.Module] || f.Function != ""
				out.Message(locationLine, p.line(&f))
			}
		}
		p.one.Message(profileLocation, &out)
		p.emit()
	}
	return code
}

// line returns the line of a frame. A function without a name is named after its address. Without that, viewers, which
// add up by name, would add the costs of a location to its caller, or to one function that stands for the whole module.
func (p *profile) line(f *profiles.Frame) *protobuf.Message {
	name := p.text(export.FrameName(f))
	fn := function{name: name, system: name, file: p.text(f.File)}
	if f.Linkage != "" {
		fn.system = p.text(f.Linkage)
	}
	var out protobuf.Message
	out.Uint(lineFunction, uint64(p.functions.ID(fn))+1)
	out.Uint(lineNumber, uint64(f.Line))
	return &out
}
