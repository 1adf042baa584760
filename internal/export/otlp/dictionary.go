package otlp

import (
	"encoding/hex"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/protobuf"
)

// Field numbers of the dictionary and of the messages in it.
const (
	tableMappings, tableLocations, tableFunctions = 1, 2, 3
	tableLinks, tableStrings                      = 4, 5
	tableAttributes, tableStacks                  = 6, 7
	mappingStart, mappingLimit, mappingOffset     = 1, 2, 3
	mappingFile, mappingAttributes                = 4, 5
	locationMapping, locationAddress              = 1, 2
	locationLines, locationAttributes             = 3, 4
	lineFunction, lineNumber                      = 1, 2
	functionName, functionSystemName              = 1, 2
	functionFile                                  = 3
	stackLocations                                = 1
	attributeKey, attributeValue, attributeUnit   = 1, 2, 3
)

// dictionary has the tables to which profiles refer. Entry 0 of each is empty.
type dictionary struct {
	in         *export.Input
	strings    intern.Table[string]
	functions  intern.Table[function]
	locations  intern.Table[uint32] // pcs
	stacks     intern.Table[uint32] // call stacks
	attributes intern.Table[attribute]
	mappings   []uint32          // ids of the modules in use
	numbers    map[uint32]uint64 // index into mappings, by module id
	code       export.Mappings
	paths      [][]uint64 // the locations of each stack
}

type function struct{ name, system, file uint64 }

type attribute struct {
	key, unit uint64
	value     string // a message AnyValue
}

// Table keys of the empty entry 0 and of the unknown call stack's location. No pc or stack of a recording has such a
// number.
const (
	none      = ^uint32(0)
	unknownPC = none - 1
)

func newDictionary(in *export.Input) *dictionary {
	d := &dictionary{in: in, numbers: make(map[uint32]uint64), code: make(export.Mappings), mappings: []uint32{0},
		paths: [][]uint64{nil}}
	d.strings.ID("")
	d.functions.ID(function{})
	d.locations.ID(none)
	d.stacks.ID(none)
	d.attributes.ID(attribute{})
	return d
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (d *dictionary) text(s string) uint64 { return uint64(d.strings.ID(valid(s))) }

func (d *dictionary) attribute(key, unit string, value *protobuf.Message) uint64 {
	return uint64(d.attributes.ID(attribute{key: d.text(key), unit: d.text(unit), value: string(value.Bytes())}))
}

// stack returns the number of a call stack. Every call stack has at least one location.
func (d *dictionary) stack(id uint32) uint64 {
	n, added := d.stacks.Add(id)
	if !added {
		return uint64(n)
	}
	var path []uint64
	d.in.PCs(id, func(pc uint32) bool {
		if len(d.in.Frames(pc)) > 0 {
			path = append(path, uint64(d.locations.ID(pc)))
		}
		return true
	})
	if path == nil {
		path = []uint64{uint64(d.locations.ID(unknownPC))}
	}
	d.paths = append(d.paths, path)
	return uint64(n)
}

// message returns the complete dictionary. Each table is written before those that it refers to, because writing it
// adds entries to them.
func (d *dictionary) message() *protobuf.Message {
	var m protobuf.Message
	for _, path := range d.paths {
		var s protobuf.Message
		s.Packed(stackLocations, path)
		m.Message(tableStacks, &s)
	}
	for i, pc := range d.locations.List() {
		m.Message(tableLocations, d.location(i, pc))
	}
	for _, id := range d.mappings {
		m.Message(tableMappings, d.mapping(id))
	}
	for _, f := range d.functions.List() {
		var s protobuf.Message
		s.Uint(functionName, f.name)
		s.Uint(functionSystemName, f.system)
		s.Uint(functionFile, f.file)
		m.Message(tableFunctions, &s)
	}
	m.Message(tableLinks, &protobuf.Message{})
	for i, a := range d.attributes.List() {
		var s protobuf.Message
		if i > 0 {
			s.Uint(attributeKey, a.key)
			s.SetBlob(attributeValue, []byte(a.value))
			s.Uint(attributeUnit, a.unit)
		}
		m.Message(tableAttributes, &s)
	}
	for _, s := range d.strings.List() {
		m.SetString(tableStrings, s)
	}
	return &m
}

// location returns the i-th location, with a line for each frame, the inlined ones first.
func (d *dictionary) location(i int, id uint32) *protobuf.Message {
	var m protobuf.Message
	if i == 0 {
		return &m
	}
	if id == unknownPC {
		m.Message(locationLines, d.line(function{name: d.text(export.Unknown)}, 0))
		return &m
	}
	if id == export.CutPC {
		m.Message(locationLines, d.line(function{name: d.text(export.CutName)}, 0))
		return &m
	}
	pc, _ := d.in.Reader.PCs().Get(id)
	m.Uint(locationMapping, d.mappingOf(pc.Module))
	d.code.Add(pc)
	m.Uint(locationAddress, export.CallAddress(pc))
	for _, f := range d.in.Frames(id) {
		if f.Function == "" {
			continue
		}
		fn := function{name: d.text(f.Function), file: d.text(f.File)}
		if f.Linkage != "" {
			fn.system = d.text(f.Linkage)
		}
		m.Message(locationLines, d.line(fn, f.Line))
	}
	if pc.Module != 0 { // code outside of any file may come from a JIT compiler
		m.Packed(locationAttributes, []uint64{d.attribute("profile.frame.type", "", textValue("native"))})
	}
	return &m
}

func (d *dictionary) line(f function, line uint32) *protobuf.Message {
	var m protobuf.Message
	m.Uint(lineFunction, uint64(d.functions.ID(f)))
	m.Uint(lineNumber, uint64(line))
	return &m
}

// mappingOf returns the number of a module's mapping; 0 for code outside of any module.
func (d *dictionary) mappingOf(module uint32) uint64 {
	if module == 0 {
		return 0
	}
	n, ok := d.numbers[module]
	if !ok {
		n = uint64(len(d.mappings))
		d.numbers[module] = n
		d.mappings = append(d.mappings, module)
	}
	return n
}

func (d *dictionary) mapping(id uint32) *protobuf.Message {
	var out protobuf.Message
	if id == 0 {
		return &out
	}
	for _, m := range d.in.Reader.Modules() {
		if m.ID != id {
			continue
		}
		at := d.code.Of(&m)
		out.Uint(mappingStart, at.Start)
		out.Uint(mappingLimit, at.Limit)
		out.Uint(mappingOffset, at.Offset)
		out.Uint(mappingFile, d.text(m.Path))
		if len(m.BuildID) > 0 {
			build := d.attribute("process.executable.build_id.gnu", "", textValue(hex.EncodeToString(m.BuildID)))
			out.Packed(mappingAttributes, []uint64{build})
		}
		break
	}
	return &out
}
