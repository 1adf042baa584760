package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Group names what a row of a table or a node of a tree stands for. Only the fields of its grouping are filled in.
// Groups are equal if they are the same group.
type Group struct {
	By       By
	Unknown  bool   // no call stack was recorded, or all of its frames are hidden; by region: in none
	Function string // "" if unknown: then Module and Offset tell
	File     string
	Line     uint32
	Module   string // "" for code outside of any file
	Offset   uint64 // address in the module's own terms, or in the process if there is no module
	Inlined  bool   // by line and by address: the function was inlined there
	Stack    uint32 // ByStack: one of the stacks
	Thread   uint32 // ByThread: index into the recording's threads
	Class    uint8  // BySizeClass: 0 is size 0, n is sizes from 2^(n-1) to 2^n - 1
	Func     event.Func
	Region   string // ByRegion: name and numbers, as name/1/2; ByRegionName: the name
}

// SizeClass returns the smallest and the largest number of a power of two: 0 is 0, n is 2^(n-1) to 2^n - 1.
func SizeClass(class uint8) (lowest, highest uint64) {
	if class == 0 {
		return 0, 0
	}
	return 1 << (class - 1), 1<<class - 1
}

// StackGroups returns the groups of the frames at a pc, leaf to root, that tell call stacks apart. Those that the query
// hides are left out.
func (q *Query) StackGroups(s *Source, pc uint32) []Group { return q.groups(s, ByLine, pc) }

func (q *Query) groups(s *Source, by By, pc uint32) (list []Group) {
	frames := s.frames(pc)
	names := frames
	if q.Names != nil {
		names = q.Names.Frames(pc)
	}
	for i := range frames {
		if q.Hide == nil || !matches(q.Hide, &frames[i]) {
			list = append(list, groupOf(by, &names[i]))
		}
	}
	return list
}

// groupOf is the group of a frame.
func groupOf(by By, f *profile.Frame) Group {
	g := Group{By: by, Module: f.Module}
	offset := f.Offset
	if f.Module == "" {
		offset = f.Address
	}
	switch by {
	case ByModule:
	case ByFile:
		if g.File = f.File; g.File != "" {
			g.Module = ""
		}
	case ByFunction:
		if g.Function = f.Function; g.Function == "" {
			g.Offset = offset
		}
	default:
		g.Function, g.File, g.Line, g.Inlined = f.Function, f.File, f.Line, f.Inlined
		if by == ByAddress || f.Function == "" {
			g.Offset = offset
		}
	}
	return g
}

// GroupsOfLabel are the groups of blocks that the label of a StackRow stands for: of regions those that the thread was
// in, from the outermost on; else one.
func (s *Source) GroupsOfLabel(by By, label uint32) []Group {
	if by.ofRegions() {
		return s.regions().groups(by, label)
	}
	return []Group{groupOfLabel(by, label)}
}

// groupOfLabel is the group of blocks that a label stands for.
func groupOfLabel(by By, label uint32) Group {
	g := Group{By: by}
	switch by {
	case ByThread:
		g.Thread = label
	case BySizeClass:
		g.Class = uint8(label)
	case ByAllocation:
		g.Func = event.Func(label)
	}
	return g
}
