package export

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Modules are the modules of the recording, the program before all others: viewers take the first one for it.
func (in *Input) Modules() []event.Module {
	list := slices.Clone(in.Reader.Modules())
	if i := slices.IndexFunc(list, func(m event.Module) bool { return m.Path == in.Reader.Process().Exe }); i > 0 {
		program := list[i]
		copy(list[1:], list[:i])
		list[0] = program
	}
	return list
}

// CallAddress is the address of the call that a pc returns to: one less, so that it lies in the call. What a signal interrupted is where it is.
func CallAddress(pc event.PC) uint64 {
	if pc.Interrupted || pc.Addr == 0 {
		return pc.Addr
	}
	return pc.Addr - 1
}

// Mapping is a part of a module: in the process from Start to Limit, in the file from Offset on.
type Mapping struct{ Start, Limit, Offset uint64 }

// Mappings are the parts of modules, by their ids, that have the code which is told of. Symbolizers find the segment of the file by them, as
// by those that the kernel tells: of all of a module they find the first segment, which mostly has no code.
type Mappings map[uint32]Mapping

// Add takes in a pc of a module.
func (l Mappings) Add(pc event.PC) {
	const page = 4096
	begin := CallAddress(pc) &^ (page - 1)
	m, ok := l[pc.Module]
	if !ok {
		m.Start = begin
	}
	l[pc.Module] = Mapping{Start: min(m.Start, begin), Limit: max(m.Limit, begin+page)}
}

// Of is the mapping of a module. Addresses in files are taken to be as far apart as offsets, from the lowest one on.
func (l Mappings) Of(module *event.Module) Mapping {
	m := l[module.ID]
	m.Start = max(m.Start, module.Start)
	m.Offset = m.Start - module.Start
	return m
}
