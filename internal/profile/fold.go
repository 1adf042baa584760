package profile

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Level is a line of a folded stack: a frame, and how many others it stands for.
type Level struct {
	Frame
	Times  int // 1, and how often the function called itself
	Within int // frames of the standard library below this one, left out
}

// Levels are the lines of a folded stack, or its first ones and its last one.
type Levels struct {
	List []Level
	All  int // number of lines of the whole stack
}

// Fold makes the lines of a stack, leaf first. Functions that run before main are left out. A function that calls
// itself is one line. If short is set, only the first of consecutive frames of the standard library, seen from the
// program, is a line. Fold keeps the first keep lines and the last one; with 0, all. A stack may be very deep: its
// frames are never all in memory.
func (p *Profile) Fold(stack uint32, short bool, keep int) Levels {
	var pcs []uint32
	p.AllPCs(stack, func(pc uint32) bool {
		pcs = append(pcs, pc)
		return true
	})
	head, frames := len(pcs), 0
	for head > 0 && frames <= startDepth {
		head--
		frames += len(p.PCFrames(pcs[head]))
	}
	var tail []Frame
	for _, pc := range pcs[head:] {
		tail = append(tail, p.PCFrames(pc)...)
	}
	var l Levels
	for _, pc := range pcs[:head] {
		list := p.PCFrames(pc)
		for i := range list {
			l.add(&list[i], short, keep)
		}
	}
	tail = cutStart(tail)
	for i := range tail {
		l.add(&tail[i], short, keep)
	}
	return l
}

// add adds the next frame.
func (l *Levels) add(f *Frame, short bool, keep int) {
	if k := len(l.List) - 1; k >= 0 {
		last := &l.List[k]
		if last.Function == f.Function && f.Function != "" && last.Module == f.Module {
			last.Times++
			return
		}
		if short && StandardLibrary(last.Function) && StandardLibrary(f.Function) {
			*last = Level{Frame: *f, Times: 1, Within: last.Within + last.Times}
			return
		}
	}
	if l.All++; keep > 0 && len(l.List) > keep {
		l.List = l.List[:keep]
	}
	l.List = append(l.List, Level{Frame: *f, Times: 1})
}

// StandardLibrary reports whether a function belongs to the standard library of its language.
func StandardLibrary(function string) bool {
	for _, p := range []string{"std::", "__gnu_cxx::", "alloc::", "core::", "<alloc::", "<core::", "<std::", "__rdl_",
		"__rust_", "__rg_"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	// Names of template instances start with the return type: "void std::f<int>(int)".
	_, name, ok := strings.Cut(function, " ")
	return ok && strings.HasPrefix(name, "std::") && !strings.HasPrefix(function, "operator ")
}

// Library reports whether a frame belongs to the runtime or to the standard library of its language.
func Library(f *Frame) bool {
	return StandardLibrary(f.Function) || RuntimeModule(f.Module)
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
	"start_thread": true, "_dl_start_user": true, "thread_start": true, "__libc_start_main@@GLIBC_2.34": true,
}

// BeforeMain reports whether a function runs before main, or before a thread's function, and calls it.
func BeforeMain(function string) bool {
	name, _, _ := strings.Cut(function, "@")
	return startFunctions[name]
}

// startDepth is how far from the root start functions are searched for: frames between them may have no name.
const startDepth = 6

// cutStart removes the start functions at the root, as long as other frames remain.
func cutStart(list []Frame) []Frame {
	end := len(list)
	for i := len(list) - 1; i >= max(1, len(list)-startDepth); i-- {
		switch name, _, _ := strings.Cut(list[i].Function, "@"); {
		case startFunctions[name]:
			end = i
		case name != "":
			return list[:end]
		}
	}
	return list[:end]
}
