package answer

import (
	"fmt"

	"github.com/heaptap/heaptap/internal/query"
)

// Group names what a row is about. Its fields depend on the grouping.
type Group struct {
	By       string       `json:"by"`
	Unknown  bool         `json:"unknown,omitempty"`
	Function string       `json:"function,omitempty"`
	Kind     string       `json:"kind,omitempty"` // whose code a function or a file is: own, library, wrapper or other
	File     string       `json:"file,omitempty"`
	Line     uint32       `json:"line,omitempty"`
	Module   string       `json:"module,omitempty"`
	Offset   string       `json:"offset,omitempty"`
	Inlined  bool         `json:"inlined,omitempty"`
	Stack    FrameNumbers `json:"stack,omitzero"`
	Thread   *Thread      `json:"thread,omitempty"`
	Size     *Bounds      `json:"size,omitempty"`
	Call     string       `json:"call,omitempty"`
	Region   string       `json:"region,omitempty"`
}

// Thread names a thread.
type Thread struct {
	Index uint32 `json:"index"`
	TID   uint32 `json:"tid"`
	Name  string `json:"name"`
}

// Bounds are the least and the greatest value, both included.
type Bounds struct {
	Min uint64 `json:"min"`
	Max uint64 `json:"max"`
}

// newGroup names a group. The table has the call stacks; nil: the group is not one.
func newGroup(s *query.Source, g *query.Group, t *frameTable) Group {
	j := Group{By: g.By.String(), Unknown: g.Unknown, Function: g.Function, File: g.File, Line: g.Line,
		Module: g.Module, Inlined: g.Inlined, Kind: kindOf(s, g)}
	switch g.By {
	case query.ByStack:
		j.Stack = t.of(g.Stack)
	case query.ByThread:
		id := NewThread(s, g.Thread)
		j.Thread = &id
	case query.BySizeClass:
		lo, hi := query.SizeClass(g.Class)
		j.Size = &Bounds{lo, hi}
	case query.ByRegion, query.ByRegionName:
		j.Region = g.Region
	case query.ByAllocation:
		j.Call = g.Func.String()
	case query.ByAddress:
		j.Offset = hex(g.Offset)
	case query.ByFunction, query.ByLine:
		if g.Function == "" && !g.Unknown {
			j.Offset = hex(g.Offset)
		}
	}
	return j
}

// kindOf says whose code a group is; "": it is none, or that is not known.
func kindOf(s *query.Source, g *query.Group) string {
	if g.Unknown {
		return ""
	}
	if g.By == query.ByFile {
		if kind, known := s.Profile.FileKind(g.File); known {
			return kind.String()
		}
	} else if OfFrames(g.By) {
		if kind, known := s.Profile.Kind(g.Function, g.Module); known {
			return kind.String()
		}
	}
	return ""
}

// OfFrames reports whether the groups of a grouping are functions or parts of them: whose code they are is known.
func OfFrames(by query.By) bool {
	return by == query.ByFunction || by == query.ByLine || by == query.ByAddress
}

// NewThread names a thread by its index.
func NewThread(s *query.Source, i uint32) Thread {
	id := Thread{Index: i}
	if list := s.Reader.Threads(); int(i) < len(list) {
		id.TID, id.Name = list[i].TID, list[i].Name
	}
	return id
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }
