package exports

import (
	"errors"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// hostile are names that formats may stumble over.
var hostile = []string{
	"std::vector<größe, 名前>::операция()", strings.Repeat("long<", 2000) +
		strings.Repeat(">", 2000), "a;b;c", "ends in 12", "a $4$5 b",
	"tab\tline\nbreak\rescape\x1b[31m\x00end", "\xff\xfe not UTF-8", `quote" <&'>\`, "]]>", " ",
	"comma, in it", "#hash", "\u2028separator\u202e",
}

// writer writes a recording by hand.
type writer struct {
	*recording.Writer
	err    error
	now    int64
	blocks []event.Event // allocations, by number
}

func create(path string) (*writer, error) {
	w, err := recording.Create(path, event.Process{PID: 7, Exe: "/bin/<torture> & co",
		Args: []string{"torture", "größe\n"}, Arch: "amd64",
		Started: 1_700_000_000_000_000_000}, recording.Options{})
	return &writer{Writer: w}, err
}

func (w *writer) event(e event.Event) {
	w.now += 1000
	e.Time = w.now
	if w.err == nil {
		w.err = w.Event(&e)
	}
}

func (w *writer) malloc(thread, stack uint32, size uint64) (ref uint64) {
	w.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Thread: thread, Stack: stack, Size: size,
		Ref: event.NoRef})
	w.blocks = append(w.blocks, event.Event{Time: w.now, Thread: thread, Stack: stack, Size: size})
	return uint64(len(w.blocks) - 1)
}

func (w *writer) free(thread uint32, ref uint64, flags event.Flags) {
	b := &w.blocks[ref]
	w.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Thread: thread, Stack: b.Stack, Size: b.Size, Ref: ref,
		Born:   b.Time,
		BornBy: b.Thread, Flags: flags})
}

func (w *writer) finish(frames map[uint32][]event.Frame) error {
	return errors.Join(w.err, w.Symbols(frames), w.Finish(recording.Ending{End: w.now + 5000, Exited: true}))
}

func empty(path string) error {
	w, err := create(path)
	if err != nil {
		return err
	}
	return w.finish(nil)
}

// one has one event: of an unknown call stack.
func one(path string) error {
	w, err := create(path)
	if err != nil {
		return err
	}
	w.Thread(0, event.Thread{TID: 7})
	w.malloc(0, 0, 100)
	return w.finish(nil)
}

// torture has hostile names, a recursion of 5,000 frames, code without symbols and without a file, two modules at one
// address, an unknown call stack, and two threads of which one has a hostile name.
func torture(path string) error {
	w, err := create(path)
	if err != nil {
		return err
	}
	w.Thread(0, event.Thread{TID: 7, Name: "main"})
	w.Thread(1, event.Thread{TID: 8, Name: "\x1b]0;gone\x07;名前 12"})
	frames := map[uint32][]event.Frame{}
	next := uint32(1)
	node := func(parent uint32, module uint32, addr uint64, list ...event.Frame) uint32 {
		id := next
		next++
		w.PC(id, event.PC{Addr: addr, Module: module})
		w.Node(id, event.Node{Parent: parent, PC: id})
		if list != nil {
			frames[id] = list
		}
		return id
	}
	w.Module(event.Module{ID: 1, Path: "/bin/torture", BuildID: []byte{1, 0xab, 0xcd}, Start: 1 << 20, End: 2 << 20,
		Bias: 1 << 20, Unload: -1})
	root := node(0, 1, 1<<20+0x100, event.Frame{Function: "main", File: "/src/main.c", Line: 9})
	at := root
	for i, name := range hostile {
		at = node(at, 1, 1<<20+0x200+uint64(i), event.Frame{Function: name, Linkage: name, File: "/src/" + name,
			Line: uint32(i), Inlined: true}, event.Frame{Function: name + "!", File: name, Line: 3})
		ref := w.malloc(uint32(i%2), at, uint64(1000+i))
		if i%3 == 0 {
			w.free(uint32(i%2), ref, event.Temporary)
		}
	}
	for id, name := range []string{2: "one", 3: "two"} {
		if id < 2 {
			continue
		}
		unload := int64(-1)
		if id == 2 {
			unload = w.now + 3000
		}
		w.Module(event.Module{ID: uint32(id), Path: "/lib/lib" + name + ".so", Start: 4 << 20, End: 5 << 20,
			Bias: 4 << 20, Loaded: w.now, Unload: unload})
		w.malloc(0, node(root, uint32(id), 4<<20+0x30, event.Frame{Function: "plugin", File: name + ".c", Line: 3}),
			uint64(id)*100)
	}
	w.malloc(0, node(root, 3, 4<<20+0x99), 70)     // no symbols
	w.malloc(1, node(root, 0, 0x7f0012345678), 80) // no file
	w.malloc(1, 0, 90)                             // no call stack
	w.malloc(0, root, 0)
	// The recursion: one pc, many nodes.
	pc := next
	w.PC(pc, event.PC{Addr: 1<<20 + 0x900, Module: 1})
	frames[pc] = []event.Frame{{Function: "descend", File: "/src/main.c", Line: 33}}
	next++
	at = root
	for depth := 1; depth < 5000; depth++ {
		w.Node(next, event.Node{Parent: at, PC: pc})
		at = next
		next++
		if depth%500 == 0 || depth == 4999 {
			ref := w.malloc(0, at, 10)
			if depth%1000 == 0 {
				w.free(1, ref, 0)
			}
		}
	}
	return w.finish(frames)
}
