package profile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/owncode"
)

// Level is a line of a folded stack: a frame, and how many others it stands for.
type Level struct {
	*Frame
	Kind   owncode.Kind
	Times  int  // 1, and how often the function called itself
	Within int  // folded frames between this one and the line before
	Left   int  // lines left out between this one and the line before
	Opened bool // a line in any case: see Folding.Lines
}

// Levels are the lines of a folded stack, or some of them.
type Levels struct {
	List    []Level
	Outside int  // folded frames outside of the last line
	Own     bool // a line is the user's own code
}

// Folding knows how to show the call stacks of a profile: whose code each frame is, and which ones are folded. It is
// not for several goroutines.
type Folding struct {
	p         *Profile
	code      *owncode.Code
	whole     bool // nothing is folded
	kinds     map[uint32][]owncode.Kind
	functions map[[2]string]owncode.Kind
	files     map[string]owncode.Kind
	built     map[string]bool
}

// NewFolding returns a folding. whole says that nothing is folded.
func (p *Profile) NewFolding(rules owncode.Rules, whole bool) *Folding {
	f := &Folding{p: p, whole: whole, kinds: make(map[uint32][]owncode.Kind)}
	mains := []string{p.Process.Exe}
	if p.Merged != nil {
		for i := range p.Merged.Inputs {
			mains = append(mains, p.Merged.Inputs[i].Exe)
		}
	}
	f.code = owncode.New(rules, mains, f.hasSources)
	return f
}

// Whole reports whether nothing is folded.
func (f *Folding) Whole() bool { return f.whole }

// hasSources reports whether a module has sources below the user's folder.
func (f *Folding) hasSources(module string) bool {
	if f.built == nil {
		f.built = make(map[string]bool)
		f.p.symbols.reader.PCs().All(func(pc uint32, _ event.PC) bool {
			for _, x := range f.p.symbols.at(pc) {
				if x.File != "" && f.code.Below(x.File) {
					f.built[x.Module] = true
				}
			}
			return true
		})
	}
	return f.built[module]
}

// of returns whose code the frames of a pc are.
func (f *Folding) of(pc uint32, frames []Frame) []owncode.Kind {
	if list, ok := f.kinds[pc]; ok {
		return list
	}
	list := make([]owncode.Kind, len(frames))
	for i := range frames {
		list[i] = f.code.Kind(frames[i].code())
	}
	f.kinds[pc] = list
	return list
}

// Function says whose code a function of a table or a tree is: that of any of its frames, the user's own first.
func (f *Folding) Function(name, module string) owncode.Kind {
	f.count()
	return f.functions[[2]string{name, module}]
}

// File says whose a source file is: the user's own, if any function in it is.
func (f *Folding) File(path string) owncode.Kind {
	f.count()
	return f.files[path]
}

// count finds out whose the functions and the files are, once.
func (f *Folding) count() {
	if f.functions != nil {
		return
	}
	f.functions = make(map[[2]string]owncode.Kind)
	f.files = make(map[string]owncode.Kind)
	f.p.symbols.reader.PCs().All(func(pc uint32, _ event.PC) bool {
		frames := f.p.PCFrames(pc)
		for i, kind := range f.of(pc, frames) {
			key := [2]string{frames[i].Function, frames[i].Module}
			if old, ok := f.functions[key]; !ok || preferred[kind] > preferred[old] {
				f.functions[key] = kind
			}
			if kind == owncode.Wrapper {
				kind = owncode.Other // a user has wrappers, too
			}
			if old, ok := f.files[frames[i].File]; !ok || preferred[kind] > preferred[old] {
				f.files[frames[i].File] = kind
			}
		}
		return true
	})
}

var preferred = map[owncode.Kind]int{owncode.Wrapper: 4, owncode.Own: 3, owncode.Other: 2, owncode.Library: 1}

// entry is a frame on its way to a line.
type entry struct {
	*Frame
	kind owncode.Kind
}

// entries returns the frames of a stack, leaf first, without those that run before main.
func (f *Folding) entries(stack uint32) []entry {
	var list []entry
	f.p.AllPCs(stack, func(pc uint32) bool {
		frames := f.p.PCFrames(pc)
		kinds := f.of(pc, frames)
		for i := range frames {
			list = append(list, entry{&frames[i], kinds[i]})
		}
		return true
	})
	list = withoutStart(list)
	// What a wrapper calls on its way to the allocator is a wrapper, too, even if nothing is known of it.
	for i := len(list) - 2; i >= 0; i-- {
		if list[i].Function == "" && list[i+1].kind == owncode.Wrapper {
			list[i].kind = owncode.Wrapper
		}
	}
	return list
}

// Lines returns all lines of a stack. Consecutive frames of libraries and wrappers are folded: the next line counts
// them. A function that calls itself is one line. On a stack without own code only wrappers are folded. opened are the
// frames, counted from the leaf, that are lines in any case.
func (f *Folding) Lines(stack uint32, opened ...int) Levels {
	list := f.entries(stack)
	var l Levels
	for i := range list {
		l.Own = l.Own || list[i].kind == owncode.Own
	}
	folded := func(kind owncode.Kind) bool {
		return !f.whole && (kind == owncode.Wrapper || kind == owncode.Library && l.Own)
	}
	if !slices.ContainsFunc(list, func(e entry) bool { return !folded(e.kind) }) {
		folded = func(owncode.Kind) bool { return false }
	}
	within := 0
	for i, e := range list {
		open := slices.Contains(opened, i)
		if folded(e.kind) && !open {
			within++
			continue
		}
		if k := len(l.List) - 1; k >= 0 && within == 0 && !open {
			last := &l.List[k]
			if !last.Opened && last.Function == e.Function && e.Function != "" && last.Module == e.Module {
				last.Times++
				continue
			}
		}
		l.List = append(l.List, Level{Frame: e.Frame, Kind: e.kind, Times: 1, Within: within, Opened: open})
		within = 0
	}
	l.Outside = within
	return l
}

// foreignLines is how many lines from the leaf on a stack without own code has, before the outermost.
const foreignLines = 3

// Fold returns the lines of a stack as Lines does, but at most limit of them, lines that say how many are left out
// included; with 0, all. It keeps the lines that were opened, the innermost one of own code, the outermost, the
// innermost, then the other own ones from the leaf on, then all others. brief says that a stack without own code is
// shown by its three innermost lines and its outermost.
func (f *Folding) Fold(stack uint32, limit int, brief bool, opened ...int) Levels {
	l := f.Lines(stack, opened...)
	if brief && !l.Own && !f.whole && limit > foreignLines+2 {
		limit = foreignLines + 2
	}
	if limit <= 0 || len(l.List) <= limit {
		return l
	}
	l.List = pick(l.List, limit)
	return l
}

// pick returns the lines to keep if there is only room for limit of them: see Folding.Fold.
func pick(list []Level, limit int) []Level {
	kept := []int{-1, len(list)} // sorted, with a bound on each side
	lines := 1                   // the kept ones, and one for each gap
	add := func(i int, force bool) bool {
		at, found := slices.BinarySearch(kept, i)
		if found {
			return true
		}
		more := 0
		if i-kept[at-1] > 1 {
			more++
		}
		if kept[at]-i > 1 {
			more++
		}
		if lines+more > limit && !force {
			return false
		}
		lines += more
		kept = slices.Insert(kept, at, i)
		return true
	}
	own := slices.IndexFunc(list, func(x Level) bool { return x.Kind == owncode.Own })
	add(max(own, 0), true)
	for i := range list {
		if list[i].Opened {
			add(i, true)
		}
	}
	add(len(list)-1, true)
	add(0, false)
	for _, wanted := range []func(owncode.Kind) bool{
		func(k owncode.Kind) bool { return k == owncode.Own }, func(owncode.Kind) bool { return true },
	} {
		for i, failed := 0, 0; i < len(list) && failed < 2*limit; i++ {
			if wanted(list[i].Kind) && !add(i, false) {
				failed++
			}
		}
	}
	out := make([]Level, 0, len(kept))
	for k, i := range kept[1 : len(kept)-1] {
		x := list[i]
		x.Left = i - kept[k] - 1
		out = append(out, x)
	}
	return out
}

// Changeable returns the line of a stack that the user can change: the innermost one of own code, or, on a stack
// without, the innermost one that is neither of a library nor a wrapper.
func (f *Folding) Changeable(stack uint32) (Level, bool) {
	l := f.Lines(stack)
	for _, wanted := range []owncode.Kind{owncode.Own, owncode.Other} {
		if i := slices.IndexFunc(l.List, func(x Level) bool { return x.Kind == wanted }); i >= 0 {
			return l.List[i], true
		}
	}
	if len(l.List) == 0 {
		return Level{}, false
	}
	return l.List[0], true
}

// Distinguish returns which frames to open so that rows that would look equal do not: by stack, for Lines and Fold.
// text is what a row shows of its stack. Equal rows show their innermost frames that differ.
func (f *Folding) Distinguish(stacks []uint32, text func(stack uint32, opened ...int) string) map[uint32][]int {
	opened := make(map[uint32][]int)
	from := make(map[uint32]int) // where to look for the next difference
	frames := make(map[uint32][]entry)
	rows := make(map[string][]uint32)
	for _, s := range stacks {
		if key := text(s); !slices.Contains(rows[key], s) {
			rows[key] = append(rows[key], s)
		}
	}
	todo := slices.Collect(maps.Values(rows))
	for round := 0; round < maxRounds && len(todo) > 0; round++ {
		var next [][]uint32
		for _, list := range todo {
			if len(list) < 2 {
				continue
			}
			for _, s := range list {
				if frames[s] == nil {
					frames[s] = f.entries(s)
				}
			}
			at := firstDifference(list, frames, from[list[0]])
			if at < 0 {
				continue
			}
			parts := make(map[string][]uint32)
			for _, s := range list {
				from[s] = at + 1
				tried := slices.Clone(opened[s])
				if at < len(frames[s]) {
					tried = append(tried, at)
				}
				key := text(s, tried...)
				parts[key] = append(parts[key], s)
			}
			for _, part := range parts {
				for _, s := range part {
					if len(parts) > 1 && at < len(frames[s]) { // else it does not show: there may be no room for it
						opened[s] = append(opened[s], at)
					}
				}
				next = append(next, part)
			}
		}
		todo = next
	}
	return opened
}

// maxRounds is how often Distinguish looks for a further difference.
const maxRounds = 8

// firstDifference returns the first frame from a given one on in which stacks differ; -1 if there is none. Functions
// that differ count first, those that are wrappers last, then places: instances of a template look alike.
func firstDifference(list []uint32, frames map[uint32][]entry, from int) int {
	for _, alike := range []func(a, b entry) bool{
		func(a, b entry) bool {
			return a.kind == owncode.Wrapper || b.kind == owncode.Wrapper || sameName(a.Frame, b.Frame)
		},
		func(a, b entry) bool { return sameName(a.Frame, b.Frame) },
		func(a, b entry) bool { return sameText(a.Frame, b.Frame) },
	} {
		for at := from; ; at++ {
			ended, differ := 0, false
			first := frames[list[0]]
			for _, s := range list {
				switch other := frames[s]; {
				case at >= len(other):
					ended++
				case at < len(first) && !alike(other[at], first[at]):
					differ = true
				}
			}
			if differ || ended > 0 && ended < len(list) {
				return at
			}
			if ended > 0 {
				break
			}
		}
	}
	return -1
}

func sameName(a, b *Frame) bool {
	if a.Function == "" || b.Function == "" {
		return a.Function == b.Function && a.Module == b.Module && a.Offset == b.Offset
	}
	return a.Function == b.Function || funcname.Plain(a.Function) == funcname.Plain(b.Function)
}

// sameText reports whether two frames are shown alike.
func sameText(a, b *Frame) bool {
	return a.Function == b.Function && a.File == b.File && a.Line == b.Line && a.Module == b.Module &&
		(a.Function != "" || a.Offset == b.Offset)
}

// Library reports whether a frame belongs to the runtime or the standard library of its language, or is a wrapper.
func Library(f *Frame) bool {
	return owncode.InLibrary(f.code()) || RuntimeModule(f.Module)
}

// code is what package owncode needs to know of a frame.
func (f *Frame) code() *owncode.Frame {
	return &owncode.Frame{Function: f.Function, Linkage: f.Linkage, File: f.File, Module: f.Module}
}

// AddressName names code of an unknown function: libc.so.6+0x1234.
func (f *Frame) AddressName() string {
	if f.Module == "" {
		return fmt.Sprintf("%#x", f.Address)
	}
	return fmt.Sprintf("%s+%#x", filepath.Base(f.Module), f.Offset)
}

// startFunctions run before main or before a thread's function. They are the same on every stack.
var startFunctions = map[string]bool{
	"_start": true, "__libc_start_main": true, "__libc_start_main_impl": true, "__libc_start_call_main": true,
	"call_init": true, "__libc_csu_init": true, "clone": true, "__clone": true, "clone3": true, "__clone3": true,
	"start_thread": true, "_dl_start_user": true, "thread_start": true,
}

// BeforeMain reports whether a function runs before main, or before a thread's function, and calls it.
func BeforeMain(function string) bool {
	name, _, _ := strings.Cut(function, "@")
	return startFunctions[name]
}

// startDepth is how far from the root start functions are searched for: frames between them may have no name.
const startDepth = 6

// withoutStart removes the start functions at the root of a stack, as long as other frames remain.
func withoutStart(list []entry) []entry {
	end := len(list)
	for i := len(list) - 1; i >= max(1, len(list)-startDepth); i-- {
		switch name := list[i].Function; {
		case BeforeMain(name):
			end = i
		case name != "":
			return list[:end]
		}
	}
	return list[:end]
}
