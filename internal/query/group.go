package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Group names what a row of a table or a node of a tree stands for. Only the fields of its grouping are set, so that
// equal groups are equal values.
type Group struct {
	By       By
	Unknown  bool   // no call stack was recorded, or all of its frames are hidden; by region: in no region
	Function string // "" if unknown: Module and Offset then identify the code
	File     string
	Line     uint32
	Module   string // "" for code outside of any file
	Offset   uint64 // address relative to the module, or in the process if there is no module
	Inlined  bool   // by line and by address: the function was inlined there
	Stack    uint32 // ByStack: one of the stacks
	Thread   uint32 // ByThread: index into the recording's threads
	Class    uint8  // BySizeClass: 0 is size 0, n is sizes from 2^(n-1) to 2^n - 1
	Func     event.Func
	Region   string // ByRegion: name and numbers, as name/1/2; ByRegionName: the name
}

// SizeClass returns the smallest and the largest number of a class: class 0 is 0, class n is 2^(n-1) to 2^n - 1.
func SizeClass(class uint8) (lowest, highest uint64) {
	if class == 0 {
		return 0, 0
	}
	return 1 << (class - 1), 1<<class - 1
}

// StackGroups returns the groups of the frames at a pc, leaf to root, that distinguish call stacks, without those that
// the query hides.
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

// groupOf returns the group of a frame.
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

// GroupsOfLabel returns the groups of blocks that the label of a StackRow stands for: for regions those that the thread
// was in, the outermost first; else one.
func (s *Source) GroupsOfLabel(by By, label uint32) []Group {
	if by.ofRegions() {
		return s.regions().groups(by, label)
	}
	return []Group{groupOfLabel(by, label)}
}

// groupOfLabel returns the group of blocks that a label stands for.
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
