// Package unseen says which allocations of a process do not come to the agent, such as those of a program with a malloc
// of its own.
//
// The rule: the user gets a sentence about each file whose allocations are missing, since totals that lack them would
// look complete.
package unseen

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// Allocations are those of one process that are not seen.
type Allocations struct {
	Note  func(format string, args ...any) // takes sentences for the user
	First string                           // the first sentence, or ""

	ownMalloc bool // the executable exports one
}

// Module takes what the agent says about a file whose allocations do not come to it.
func (u *Allocations) Module(m *spool.Module) {
	name := m.Path
	switch m.Apart {
	case wire.ApartMalloc:
		u.ownMalloc = true
	case wire.ApartDeepbind:
		u.add("%s was opened with RTLD_DEEPBIND: it calls the C library's malloc and free directly, unseen. "+
			"What it allocates and others free counts as deallocations of addresses that were not live; "+
			"what others allocate and it frees, as leaked.", filepath.Base(name))
	case wire.ApartNamespace:
		u.add("%s was opened by dlmopen: in its namespace it has a C library of its own, "+
			"whose malloc and free are not seen.",
			filepath.Base(name))
	}
}

func (u *Allocations) add(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	u.Note("%s", n)
	if u.First == "" {
		u.First = n
	}
}

// JudgeMalloc adds a sentence if the program has a malloc of its own. The agent sees one that is exported. One that is
// not is found by symbols, if there was no other allocation in mode exact.
func (u *Allocations) JudgeMalloc(exe string, mode uint8, allocations uint64) {
	if !u.ownMalloc && (allocations > 0 || mode != wire.ModeExact) {
		return
	}
	own := mallocOf(exe)
	if !u.ownMalloc && own.where != elfx.MallocLocal {
		return
	}
	allocator := ""
	if own.name != "" {
		allocator = " (" + own.name + ")"
	}
	if !u.ownMalloc {
		u.add("%s has its own malloc%s, to which its calls are bound: what it allocates there is not recorded. "+
			"Build it without that allocator.",
			exe, allocator)
		return
	}
	hook := ""
	if len(own.exports) > 0 {
		hook = " To record it all the same, the functions that it exports would have to be patched " +
			"in the running process: " +
			strings.Join(own.exports, ", ") + "."
	}
	u.add("%s has its own malloc%s, which comes before any preloaded one: what is allocated there is not recorded. "+
		"Build it without that allocator.%s", exe, allocator, hook)
}

type malloc struct {
	where   elfx.Malloc
	name    string
	exports []string
}

// mallocs remembers what was found of executables: a browser starts the same one a dozen times.
var mallocs sync.Map

func mallocOf(exe string) malloc {
	if m, ok := mallocs.Load(exe); ok {
		return m.(malloc)
	}
	var m malloc
	if info, err := elfx.Inspect(exe); err == nil {
		m.where = info.Malloc
	}
	if f, err := elfx.Open(exe); err == nil {
		m.name, m.exports = f.Allocator()
		f.Close()
	}
	mallocs.Store(exe, m)
	return m
}
