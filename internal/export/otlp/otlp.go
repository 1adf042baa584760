// Package otlp writes OpenTelemetry profiles: a message ProfilesData of the protocol
// opentelemetry.proto.profiles.v1development.
//
// That protocol is not stable: releases renumber fields, and messages do not name their release. So each release that
// differs is a variant; see layout. A profile has one type of values, so each metric gets a profile of its own. All
// profiles share one dictionary. Its tables begin with an empty entry: the number 0 means none.
package otlp

import (
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is OpenTelemetry profiles.
var Format = export.Format{
	Name:      "otlp",
	Tool:      "OpenTelemetry collectors and their backends",
	Extension: ".otlp",
	Binary:    true,
	Keeps: "any metrics that sum up, exact, by call stack with addresses, inlined functions, files and lines; " +
		"modules with build ids; threads, size classes, allocation functions or regions as attributes (--by); " +
		"process, host, when it began and how long it took",
	Loses:   "events and times of single blocks; own peaks, lifetimes and other metrics that do not sum up",
	Metrics: defaults,
	By:      export.GroupingsOfStacks,
	Variants: []export.Variant{
		{Name: current, Text: "as in releases 0.3 and 0.4 of the Go module " +
			"go.opentelemetry.io/proto/otlp/profiles/v1development"},
		{Name: "v0.2", Text: "as in its release 0.2: a sample's fields have other numbers"},
	},
	Write: write,
}

const current = "v0.4"

var defaults = []query.Metric{query.Allocations, query.Bytes, query.LiveBlocks, query.Live, query.PeakBlocks,
	query.Peak, query.LeakedBlocks, query.Leaked, query.Temporary, query.TemporaryBytes}

// typeNames are the names of metrics in profiles. The first four are those of pprof's heap profiles, from which the
// protocol descends.
var typeNames = map[query.Metric]string{
	query.Allocations: "alloc_objects", query.Bytes: "alloc_space",
	query.LiveBlocks: "inuse_objects", query.Live: "inuse_space",
	query.PeakBlocks: "peak_objects", query.Peak: "peak_space",
	query.LeakedBlocks: "leaked_objects", query.Leaked: "leaked_space",
	query.Temporary: "temporary_objects", query.TemporaryBytes: "temporary_space",
	query.Deallocations: "free_objects", query.FreedBytes: "free_space",
}

// layout holds the field numbers that differ between releases.
type layout struct{ sampleValues, sampleAttributes int }

var layouts = map[string]layout{
	current: {sampleValues: 4, sampleAttributes: 2},
	"v0.2":  {sampleValues: 2, sampleAttributes: 3},
}

// Field numbers that are the same in all releases.
const (
	dataResource, dataDictionary             = 1, 2
	resourceProfilesResource, resourceScopes = 1, 2
	resourceAttributes                       = 1
	scopeScope, scopeProfiles                = 1, 2
	scopeName, scopeVersion                  = 1, 2
	profileSampleType, profileSamples        = 1, 2
	profileTime, profileDuration             = 3, 4
	profilePeriodType, profilePeriod         = 5, 6
	profileID                                = 7
	valueTypeType, valueTypeUnit             = 1, 2
	sampleStack                              = 1
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.Stacks(ctx)
	if err != nil {
		return err
	}
	p := &profiles{in: in, dictionary: newDictionary(in), layout: layouts[in.Variant]}
	var scope, resource, data protobuf.Message
	scope.Message(scopeScope, scopeOf(in))
	for _, m := range t.Metrics {
		scope.Message(scopeProfiles, p.profile(t, m))
	}
	resource.Message(resourceProfilesResource, resourceOf(in))
	resource.Message(resourceScopes, &scope)
	data.Message(dataResource, &resource)
	data.Message(dataDictionary, p.message())
	_, err = w.Write(data.Bytes())
	return err
}

// scopeOf returns the scope, which names the producer. It is mandatory.
func scopeOf(in *export.Input) *protobuf.Message {
	var m protobuf.Message
	m.String(scopeName, "github.com/heaptap/heaptap")
	m.String(scopeVersion, valid(in.Reader.Process().Recorder))
	return &m
}

// resourceOf returns the resource, which describes the process by OpenTelemetry's semantic conventions. Labels replace
// these attributes, and earlier labels of the same name. A label without a value removes the attribute.
func resourceOf(in *export.Input) *protobuf.Message {
	p := in.Reader.Process()
	var m protobuf.Message
	among := func(list []export.Label, key string) bool {
		return slices.ContainsFunc(list, func(l export.Label) bool { return l.Name == key })
	}
	add := func(key string, value *protobuf.Message) {
		if !among(in.Labels, key) {
			m.Message(resourceAttributes, keyValue(key, value))
		}
	}
	text := func(key, value string) {
		if value != "" {
			add(key, textValue(value))
		}
	}
	text("service.name", in.Program())
	text("host.name", p.Host)
	text("host.arch", p.Arch)
	text("os.type", "linux")
	if p.Exe != "" {
		text("process.executable.name", in.Program())
	}
	text("process.executable.path", p.Exe)
	if p.PID != 0 {
		add("process.pid", numberValue(int64(p.PID)))
	}
	if len(p.Args) > 0 {
		add("process.command_args", listValue(p.Args))
	}
	text("heaptap.selected", strings.Join(in.Asked, " "))
	for i, l := range in.Labels {
		if l.Value != "" && !among(in.Labels[i+1:], l.Name) {
			m.Message(resourceAttributes, keyValue(l.Name, textValue(l.Value)))
		}
	}
	return &m
}

// profiles builds the profiles of a recording.
type profiles struct {
	in *export.Input
	*dictionary
	layout layout
}

// profile returns the profile of a metric, without call stacks whose value is 0.
func (p *profiles) profile(t *query.StackTable, metric query.Metric) *protobuf.Message {
	var m protobuf.Message
	m.Message(profileSampleType, p.valueType(typeName(metric), unitName(metric.Unit())))
	for i := range t.Rows {
		r := &t.Rows[i]
		v, _ := metric.Integer(&r.Values)
		if v == 0 {
			continue
		}
		var s protobuf.Message
		s.Uint(sampleStack, p.stack(r.Stack))
		s.Packed(p.layout.sampleValues, []uint64{v})
		s.Packed(p.layout.sampleAttributes, p.labels(r.Label))
		m.Message(profileSamples, &s)
	}
	period := p.in.PeriodOf(&t.Answer)
	if started := p.in.Reader.Process().Started; started > 0 {
		m.Fixed64(profileTime, uint64(started+period.Begin))
	}
	m.Int(profileDuration, period.Span)
	m.Message(profilePeriodType, p.valueType("space", "bytes"))
	m.Int(profilePeriod, 1)
	hash := sha256.Sum256(m.Bytes())
	m.Blob(profileID, hash[:16]) // a profile that is sent again has the same id
	return &m
}

func (p *profiles) valueType(name, unit string) *protobuf.Message {
	var m protobuf.Message
	m.Uint(valueTypeType, p.text(name))
	m.Uint(valueTypeUnit, p.text(unit))
	return &m
}

// labels returns the attributes of a sample, which say what blocks it is about.
func (p *profiles) labels(label uint32) []uint64 {
	if !p.in.Query.By.OfBlocks() {
		return nil
	}
	g := p.in.GroupsOfLabel(p.in.Query.By, label)[0]
	switch g.By {
	case query.ByThread:
		list := p.in.Reader.Threads()
		if int64(g.Thread) >= int64(len(list)) {
			return []uint64{p.attribute("thread.name", "", textValue(p.in.GroupName(&g)))}
		}
		t := &list[g.Thread]
		return []uint64{p.attribute("thread.id", "", numberValue(int64(t.TID))),
			p.attribute("thread.name", "", textValue(t.Name))}
	case query.BySizeClass:
		low, high := query.SizeClass(g.Class)
		return []uint64{p.attribute("heaptap.size.min", "By", numberValue(int64(low))),
			p.attribute("heaptap.size.max", "By", numberValue(int64(high)))}
	case query.ByRegion:
		return []uint64{p.attribute("heaptap.region", "", textValue(p.in.LabelName(label)))}
	}
	return []uint64{p.attribute("heaptap.allocation_function", "", textValue(g.Func.String()))}
}

func typeName(m query.Metric) string {
	if name, ok := typeNames[m]; ok {
		return name
	}
	return m.String()
}

// unitName returns pprof's name of a unit.
func unitName(u query.Unit) string {
	if u == query.Nanoseconds {
		return "nanoseconds"
	}
	return u.String()
}
