// Package pprof writes the profiles of google/pprof: a gzipped message of its profile.proto.
//
// A call stack of the recording is a sample, an address on it a location, and its inlined functions are lines of that location. Values
// are what was counted, not samples to be scaled.
package pprof

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is the profile.
var Format = export.Format{
	Name:      "pprof",
	Tool:      "go tool pprof, Pyroscope, Parca, Grafana, speedscope",
	Extension: ".pb.gz",
	Binary:    true,
	Keeps: "any metrics that sum up, exact, by call stack with addresses, inlined functions, files and lines; modules with build ids; threads, " +
		"size classes, allocation functions or regions as labels (--by); when it began and how long it took",
	Loses:   "events and times of single blocks; own peaks, lifetimes and other metrics that do not sum up",
	In:      "sums by call stack: alloc_*, inuse_*, peak_*, leaked_*, temporary_*, free_*; addresses, inlined functions, lines, modules, build ids; what threads allocated",
	Metrics: defaults,
	By:      export.GroupingsOfStacks,
	Write:   write,
}

var defaults = []query.Metric{query.Allocations, query.Bytes, query.LiveBlocks, query.Live, query.PeakBlocks, query.Peak,
	query.LeakedBlocks, query.Leaked, query.Temporary, query.TemporaryBytes}

// typeNames are how pprof calls metrics. The first four are those of Go's heap profiles, which other tools know.
var typeNames = map[query.Metric]string{
	query.Allocations: "alloc_objects", query.Bytes: "alloc_space", query.LiveBlocks: "inuse_objects", query.Live: "inuse_space",
	query.PeakBlocks: "peak_objects", query.Peak: "peak_space", query.LeakedBlocks: "leaked_objects", query.Leaked: "leaked_space",
	query.Temporary: "temporary_objects", query.TemporaryBytes: "temporary_space", query.Deallocations: "free_objects",
	query.FreedBytes: "free_space",
}

// Fields of the messages in profile.proto.
const (
	profileSampleType    = 1
	profileSample        = 2
	profileMapping       = 3
	profileLocation      = 4
	profileFunction      = 5
	profileStrings       = 6
	profileTime          = 9
	profileDuration      = 10
	profilePeriodType    = 11
	profilePeriod        = 12
	profileComment       = 13
	profileDefaultType   = 14
	valueTypeType        = 1
	valueTypeUnit        = 2
	sampleLocations      = 1
	sampleValues         = 2
	sampleLabel          = 3
	labelKey             = 1
	labelText            = 2
	labelNumber          = 3
	labelUnit            = 4
	mappingID            = 1
	mappingStart         = 2
	mappingLimit         = 3
	mappingOffset        = 4
	mappingFile          = 5
	mappingBuildID       = 6
	mappingFunctions     = 7
	mappingFilenames     = 8
	mappingLines         = 9
	mappingInlined       = 10
	locationID           = 1
	locationMapping      = 2
	locationAddress      = 3
	locationLine         = 4
	lineFunction         = 1
	lineNumber           = 2
	functionID           = 1
	functionName         = 2
	functionSystemName   = 3
	functionFile         = 4
	unknownLocation      = 1 // what stands for a call stack that is not known
	firstKnownLocationID = 2
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.Stacks(ctx)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	p := newProfile(z, in)
	p.head(t)
	for i := range t.Rows {
		p.sample(t, &t.Rows[i])
	}
	p.tables()
	if p.err != nil {
		return p.err
	}
	return z.Close()
}

// profile is a profile while it is written: samples first, then the tables that they refer to.
type profile struct {
	w         io.Writer
	in        *export.Input
	err       error
	one       protobuf.Message // a field of the profile
	texts     table[string]
	functions table[function]
	locations table[uint32] // pcs; their ids are one more than in other tables
	path      []uint64
	values    []uint64
	unknown   bool // the location of unknown call stacks is used
}

type function struct{ name, system, file uint64 }

func newProfile(w io.Writer, in *export.Input) *profile {
	p := &profile{w: w, in: in}
	p.texts.id("") // has to be the first
	return p
}

// table numbers things in the order in which they come.
type table[K comparable] struct {
	ids  map[K]uint64
	list []K
}

// id returns a thing's number, from 0.
func (t *table[K]) id(k K) uint64 {
	if id, ok := t.ids[k]; ok {
		return id
	}
	if t.ids == nil {
		t.ids = make(map[K]uint64)
	}
	id := uint64(len(t.list))
	t.ids[k] = id
	t.list = append(t.list, k)
	return id
}

// emit writes the field that is ready.
func (p *profile) emit() {
	if p.err == nil {
		_, p.err = p.w.Write(p.one.Bytes())
	}
	p.one.Reset()
}

func (p *profile) text(s string) uint64 { return p.texts.id(strings.ToValidUTF8(s, "\uFFFD")) }

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

// head writes what the samples mean.
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

// first is the metric that viewers show at first: the first that was asked for, else what is live at the moment that was asked for, else
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

// sample writes a call stack.
func (p *profile) sample(t *query.StackTable, r *query.StackRow) {
	p.path, p.values = p.path[:0], p.values[:0]
	p.in.PCs(r.Stack, func(pc uint32) bool {
		if len(p.in.Frames(pc)) > 0 {
			p.path = append(p.path, p.locations.id(pc)+firstKnownLocationID)
		}
		return true
	})
	if len(p.path) == 0 {
		p.path, p.unknown = append(p.path, unknownLocation), true
	}
	for _, m := range t.Metrics {
		v, _ := m.Integer(&r.Values)
		p.values = append(p.values, v)
	}
	var s protobuf.Message
	s.Packed(sampleLocations, p.path)
	s.Packed(sampleValues, p.values)
	if p.in.Query.By.OfBlocks() {
		p.label(&s, r.Label)
	}
	p.one.Message(profileSample, &s)
	p.emit()
}

// label says of which blocks a sample is.
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
		text("thread", p.in.GroupName(&g))
		if list := p.in.Reader.Threads(); int64(g.Thread) < int64(len(list)) {
			number("thread_id", "", uint64(list[g.Thread].TID))
		}
	case query.BySizeClass:
		low, _ := query.SizeClass(g.Class)
		text("size", p.in.GroupName(&g))
		number("bytes", "bytes", low)
	case query.ByAllocation:
		text("allocator", g.Func.String())
	case query.ByRegion:
		for i := range groups { // a key may have several values
			text("region", p.in.GroupName(&groups[i]))
		}
	}
}

// tables writes what the samples refer to.
func (p *profile) tables() {
	code, named := p.writeLocations()
	for i, m := range p.in.Modules() {
		if _, used := code[m.ID]; !used {
			continue
		}
		var out protobuf.Message
		out.Uint(mappingID, uint64(i+1))
		at := code.Of(&m)
		out.Uint(mappingStart, at.Start)
		out.Uint(mappingLimit, at.Limit)
		out.Uint(mappingOffset, at.Offset)
		out.Uint(mappingFile, p.text(m.Path))
		out.Uint(mappingBuildID, p.text(hex.EncodeToString(m.BuildID)))
		// What has names needs no other symbols; where nothing has, pprof may look for some.
		for _, field := range []int{mappingFunctions, mappingFilenames, mappingLines, mappingInlined} {
			out.Bool(field, named[m.ID])
		}
		p.one.Message(profileMapping, &out)
		p.emit()
	}
	for i, f := range p.functions.list {
		var out protobuf.Message
		out.Uint(functionID, uint64(i+1))
		out.Uint(functionName, f.name)
		out.Uint(functionSystemName, f.system)
		out.Uint(functionFile, f.file)
		p.one.Message(profileFunction, &out)
		p.emit()
	}
	for _, s := range p.texts.list {
		p.one.SetString(profileStrings, s)
		p.emit()
	}
}

// writeLocations writes the locations. It returns, by the modules' ids, where they are, and of which there are names.
func (p *profile) writeLocations() (code export.Mappings, named map[uint32]bool) {
	mappings := make(map[uint32]uint64)
	for i, m := range p.in.Modules() {
		mappings[m.ID] = uint64(i + 1)
	}
	code, named = make(export.Mappings), make(map[uint32]bool)
	if p.unknown {
		var out, line protobuf.Message
		out.Uint(locationID, unknownLocation)
		line.Uint(lineFunction, p.functions.id(function{name: p.text(export.Unknown), system: p.text(export.Unknown)})+1)
		out.Message(locationLine, &line)
		p.one.Message(profileLocation, &out)
		p.emit()
	}
	for i, id := range p.locations.list {
		pc, _ := p.in.Reader.PCs().Get(id)
		var out protobuf.Message
		out.Uint(locationID, uint64(i)+firstKnownLocationID)
		if m := mappings[pc.Module]; m != 0 && pc.Module != 0 {
			code.Add(pc)
			out.Uint(locationMapping, m)
		}
		out.Uint(locationAddress, export.CallAddress(pc))
		for _, f := range p.in.Frames(id) {
			if f.Function == "" {
				continue
			}
			named[pc.Module] = true
			fn := function{name: p.text(f.Function), system: p.text(f.Function), file: p.text(f.File)}
			if f.Linkage != "" {
				fn.system = p.text(f.Linkage)
			}
			var line protobuf.Message
			line.Uint(lineFunction, p.functions.id(fn)+1)
			line.Uint(lineNumber, uint64(f.Line))
			out.Message(locationLine, &line)
		}
		p.one.Message(profileLocation, &out)
		p.emit()
	}
	return code, named
}
