package firefox

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/profile"
)

// The tables of a thread have a list for each column. Other tables refer to entries by index.

type stackTable struct {
	Frame       []int  `json:"frame"`
	Prefix      []*int `json:"prefix"` // null: a root
	Category    []int  `json:"category"`
	Subcategory []int  `json:"subcategory"`
	Length      int    `json:"length"`
}

type frameTable struct {
	Address        []int64   `json:"address"` // of the call, relative to the library; -1: in none
	InlineDepth    []int     `json:"inlineDepth"`
	Category       []int     `json:"category"`
	Subcategory    []int     `json:"subcategory"`
	Func           []int     `json:"func"`
	NativeSymbol   []*int    `json:"nativeSymbol"`
	InnerWindowID  []int     `json:"innerWindowID"`
	Implementation []*string `json:"implementation"`
	Line           []*uint32 `json:"line"`
	Column         []*int    `json:"column"`
	Length         int       `json:"length"`
}

type funcTable struct {
	Name          []int  `json:"name"`
	IsJS          []bool `json:"isJS"`
	RelevantForJS []bool `json:"relevantForJS"`
	Resource      []int  `json:"resource"` // -1: none
	FileName      []*int `json:"fileName"`
	LineNumber    []*int `json:"lineNumber"`
	ColumnNumber  []*int `json:"columnNumber"`
	Length        int    `json:"length"`
}

type resourceTable struct {
	Lib    []int  `json:"lib"`
	Name   []int  `json:"name"`
	Host   []*int `json:"host"`
	Type   []int  `json:"type"` // 1: a library
	Length int    `json:"length"`
}

type nativeSymbols struct {
	LibIndex     []int  `json:"libIndex"`
	Address      []int  `json:"address"`
	Name         []int  `json:"name"`
	FunctionSize []*int `json:"functionSize"`
	Length       int    `json:"length"`
}

type lib struct {
	Arch       string  `json:"arch"`
	Name       string  `json:"name"`
	Path       string  `json:"path"`
	DebugName  string  `json:"debugName"`
	DebugPath  string  `json:"debugPath"`
	BreakpadID string  `json:"breakpadId"`
	CodeID     *string `json:"codeId"`
}

// tables holds the thread's tables while they are filled.
type tables struct {
	in        *export.Input
	modules   map[uint32]*event.Module
	strings   intern.Table[string]
	nodes     intern.Table[node]
	pcs       map[uint32][]int // frames of a pc, root to leaf
	funcIDs   intern.Table[function]
	resources intern.Table[string] // paths of files
	leaves    map[uint32]int       // entry in stacks, by call stack
	inner     map[uint32]int       // entry, by node of the recording's tree; -1 if the node and all above it are hidden

	libs         []lib
	stacks       stackTable
	frames       frameTable
	funcs        funcTable
	resourceList resourceTable
}

// node is a call stack: a frame, and the call stack of its caller (-1: none).
type node struct{ prefix, frame int }

type function struct{ name, resource, file int }

func newTables(in *export.Input) *tables {
	t := &tables{in: in, modules: make(map[uint32]*event.Module), pcs: make(map[uint32][]int),
		leaves: make(map[uint32]int), inner: make(map[uint32]int), libs: []lib{}}
	list := in.Reader.Modules()
	for i := range list {
		t.modules[list[i].ID] = &list[i]
	}
	t.stacks = stackTable{[]int{}, []*int{}, []int{}, []int{}, 0}
	t.frames = frameTable{Address: []int64{}, InlineDepth: []int{}, Category: []int{}, Subcategory: []int{},
		Func: []int{}, NativeSymbol: []*int{},
		InnerWindowID: []int{}, Implementation: []*string{}, Line: []*uint32{}, Column: []*int{}}
	t.funcs = funcTable{[]int{}, []bool{}, []bool{}, []int{}, []*int{}, []*int{}, []*int{}, 0}
	t.resourceList = resourceTable{[]int{}, []int{}, []*int{}, []int{}, 0}
	return t
}

// stack returns the entry of a call stack.
func (t *tables) stack(id uint32) int {
	if n, ok := t.leaves[id]; ok {
		return n
	}
	nodes := t.in.Reader.Nodes()
	var path []uint32
	at := -1
	for up := id; up != 0; {
		known, ok := t.inner[up]
		if ok {
			at = known
			break
		}
		n, ok := nodes.Get(up)
		if !ok {
			break
		}
		path = append(path, up)
		up = n.Parent
	}
	for _, up := range slices.Backward(path) {
		n, _ := nodes.Get(up)
		for _, f := range t.pc(n.PC) {
			at = t.node(node{at, f})
		}
		t.inner[up] = at
	}
	if at < 0 {
		at = t.node(node{-1, t.unknown()})
	}
	t.leaves[id] = at
	return at
}

func (t *tables) node(n node) int {
	i, added := t.nodes.Add(n)
	if added {
		var prefix *int
		if n.prefix >= 0 {
			prefix = &n.prefix
		}
		t.stacks.Frame, t.stacks.Prefix = append(t.stacks.Frame, n.frame), append(t.stacks.Prefix, prefix)
		t.stacks.Category = append(t.stacks.Category, t.frames.Category[n.frame])
		t.stacks.Subcategory, t.stacks.Length = append(t.stacks.Subcategory, 0), i+1
	}
	return i
}

// pc returns the frames at a pc, root to leaf.
func (t *tables) pc(id uint32) []int {
	if list, ok := t.pcs[id]; ok {
		return list
	}
	frames := t.in.Frames(id)
	info, _ := t.in.Reader.PCs().Get(id)
	m := t.modules[info.Module]
	var list []int
	for depth := range frames {
		f := &frames[len(frames)-1-depth]
		address := int64(-1)
		if m != nil {
			address = int64(f.Offset)
			if !info.Interrupted && address > 0 {
				address-- // from the return address into the call
			}
		}
		list = append(list, t.frame(f, m, address, depth))
	}
	t.pcs[id] = list
	return list
}

func (t *tables) frame(f *profile.Frame, m *event.Module, address int64, depth int) int {
	fn := function{name: t.string(export.FrameName(f)), resource: t.resource(m), file: -1}
	if f.File != "" {
		fn.file = t.string(f.File)
	}
	var line *uint32
	if f.Line > 0 {
		line = &f.Line
	}
	return t.addFrame(t.function(fn), t.category(m), address, depth, line)
}

func (t *tables) unknown() int {
	if list, ok := t.pcs[^uint32(0)]; ok { // no pc of a recording has this number
		return list[0]
	}
	i := t.addFrame(t.function(function{t.string(export.Unknown), -1, -1}), other, -1, 0, nil)
	t.pcs[^uint32(0)] = []int{i}
	return i
}

func (t *tables) addFrame(fn, category int, address int64, depth int, line *uint32) int {
	f := &t.frames
	f.Address, f.InlineDepth = append(f.Address, address), append(f.InlineDepth, depth)
	f.Category, f.Subcategory = append(f.Category, category), append(f.Subcategory, 0)
	f.Func, f.NativeSymbol = append(f.Func, fn), append(f.NativeSymbol, nil)
	f.InnerWindowID, f.Implementation = append(f.InnerWindowID, 0), append(f.Implementation, nil)
	f.Line, f.Column = append(f.Line, line), append(f.Column, nil)
	f.Length++
	return f.Length - 1
}

func (t *tables) function(f function) int {
	i, added := t.funcIDs.Add(f)
	if added {
		var file *int
		if f.file >= 0 {
			file = &f.file
		}
		l := &t.funcs
		l.Name, l.IsJS, l.RelevantForJS = append(l.Name, f.name), append(l.IsJS, false), append(l.RelevantForJS, false)
		l.Resource, l.FileName = append(l.Resource, f.resource), append(l.FileName, file)
		l.LineNumber, l.ColumnNumber = append(l.LineNumber, nil), append(l.ColumnNumber, nil)
		l.Length = i + 1
	}
	return i
}

// resource returns the entry of a module's file, -1 for none.
func (t *tables) resource(m *event.Module) int {
	if m == nil {
		return -1
	}
	i, added := t.resources.Add(m.Path)
	if added {
		name := m.Path[strings.LastIndexByte(m.Path, '/')+1:]
		l := &t.resourceList
		l.Lib, l.Name = append(l.Lib, len(t.libs)), append(l.Name, t.string(name))
		l.Host, l.Type, l.Length = append(l.Host, nil), append(l.Type, 1), i+1
		t.libs = append(t.libs, libOf(t.in.Reader.Process().Arch, name, m))
	}
	return i
}

func libOf(arch, name string, m *event.Module) lib {
	l := lib{Arch: arch, Name: name, Path: m.Path, DebugName: name, DebugPath: m.Path,
		BreakpadID: breakpadID(m.BuildID)}
	if len(m.BuildID) > 0 {
		id := hex.EncodeToString(m.BuildID)
		l.CodeID = &id
	}
	return l
}

// breakpadID returns a build id as Breakpad's symbol files spell it: the first 16 bytes as a GUID, whose first three
// parts are little-endian, and an age of 0.
func breakpadID(build []byte) string {
	var g [16]byte
	copy(g[:], build)
	g[0], g[1], g[2], g[3] = g[3], g[2], g[1], g[0]
	g[4], g[5], g[6], g[7] = g[5], g[4], g[7], g[6]
	return fmt.Sprintf("%X0", g)
}

func (t *tables) category(m *event.Module) int {
	switch {
	case m == nil:
		return other
	case m.Path == t.in.Reader.Process().Exe:
		return program
	case profile.RuntimeModule(m.Path):
		return runtime
	}
	return library
}

func (t *tables) string(s string) int { return t.strings.ID(strings.ToValidUTF8(s, "\uFFFD")) }
