// Package symbols finds what recordings say about code and static data: the names of program counters, and the
// variables of the files that a process has loaded. One Finder serves all processes of a run.
//
// The rule: what is known of a file, by its build id, is remembered for the run's other processes. Code outside of
// files is not, since it differs between processes.
package symbols

import (
	"context"
	"runtime"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/namecache"
)

// Fetch is asked for the debug file with a build id that is not on this machine.
type Fetch = func(ctx context.Context, id []byte) (path string, err error)

// Config says how to search.
type Config struct {
	Context context.Context  // ends when searches are to be cut short
	Names   *namecache.Cache // keeps names for the next run; nil: none are kept
	Fetch   Fetch            // nil: nothing is downloaded
}

// Process is a process that the search is for.
type Process struct {
	PID     int
	User    uint32 // as whom the program runs
	Modules map[uint32]*event.Module
}

// Finder searches. Its methods may be called from any goroutine.
type Finder struct {
	config  Config
	running chan struct{} // bounds how many recordings are searched for at once
	names   *nameCache
	statics staticsCache
}

// New returns a finder.
func New(config Config) *Finder {
	return &Finder{config: config, running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0))), names: newNameCache()}
}
