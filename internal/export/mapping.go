package export

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Modules returns the recording's modules, the program first: viewers take the first one for the program.
func (in *Input) Modules() []event.Module {
	list := slices.Clone(in.Reader.Modules())
	if i := slices.IndexFunc(list, func(m event.Module) bool { return m.Path == in.Reader.Process().Exe }); i > 0 {
		program := list[i]
		copy(list[1:], list[:i])
		list[0] = program
	}
	return list
}

// CallAddress returns an address within the call that a pc returns to: one less than the pc. The pc of an interrupted
// frame is itself the address.
func CallAddress(pc event.PC) uint64 {
	if pc.Interrupted || pc.Addr == 0 {
		return pc.Addr
	}
	return pc.Addr - 1
}

// Mapping is a part of a module: from Start to Limit in the process, at Offset in the file.
type Mapping struct{ Start, Limit, Offset uint64 }

// Mappings holds, by module id, the part of each module that has the exported code. Symbolizers use it like a line of
// /proc/PID/maps to find the file's segment. Given the whole module they would find the first segment, which usually
// has no code.
type Mappings map[uint32]Mapping

// Add extends the part of a pc's module by the pc.
func (m Mappings) Add(pc event.PC) {
	const page = 4096
	begin := CallAddress(pc) &^ (page - 1)
	part, ok := m[pc.Module]
	if !ok {
		part.Start = begin
	}
	m[pc.Module] = Mapping{Start: min(part.Start, begin), Limit: max(part.Limit, begin+page)}
}

// Of returns the mapping of a module. It assumes that addresses within a module are as far apart as their offsets in
// the file.
func (m Mappings) Of(module *event.Module) Mapping {
	part := m[module.ID]
	part.Start = max(part.Start, module.Start)
	part.Offset = part.Start - module.Start
	return part
}
