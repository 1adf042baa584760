package record

import (
	"context"
	"io/fs"
	"time"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/namecache"
	"github.com/heaptap/heaptap/internal/record/watch"
	unit "github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/tally"
)

// Config says what to record and where to.
type Config struct {
	// RunDir is the folder in which the run's agents make their spools. It is removed at the end, if nothing is left in
	// it.
	RunDir string
	// Output is a file name, in which %p stands for the process id, %n for the program's name and %% for a percent
	// sign, or an existing folder. "" means "%n.%p.htap" in the working directory.
	Output string
	// Unit keeps the run as one unit, see package run: Output is the run's name, with the main process's id and the
	// name of the command. nil: each program is recorded to a file of its own.
	Unit *unit.Info
	// OutputMode are the recordings' permissions; 0: only their owner may read them.
	OutputMode fs.FileMode
	// Taken are recordings of the run, by their paths, that others must not replace.
	Taken []string
	// SpillDir is where agents append what does not fit into their pool, and where the recorder keeps what it has not
	// processed yet. "" means RunDir for the agents and the output's folder for the recorder.
	SpillDir string
	// SpillLimit bounds what the recorder keeps there, in bytes; 0 means half of the free disk, at most 4 GiB.
	SpillLimit int64
	// Launcher is the process that starts the target: root's recorder admits its descendants to the run, whoever they
	// have become; 0: only who can enter RunDir is recorded.
	Launcher int
	// Main delivers the process id of the process that was started, once. Closed without one, or nil: there is none to
	// wait for, and the run is over when no recorded process is left.
	Main <-chan int
	// MainEnded delivers how the main process ended, once; it may be nil. If it is closed or silent, the recording does
	// not say.
	MainEnded <-chan Status
	// Flush bounds how long events stay in the recorder's memory before they are in the file; 0 means flushInterval.
	// Short times make blocks small and files larger: they are for those who read a recording while it is being
	// written.
	Flush time.Duration
	// Keep and MaxSize bound what long runs leave on disk: events older than Keep at the latest one, and the oldest
	// ones of a recording that takes more than MaxSize bytes on disk, are folded into sums. 0: no bound.
	Keep    time.Duration
	MaxSize int64
	// MaxDepth is how many frames of a call stack are kept, the innermost ones; 0: all.
	MaxDepth int
	// MarkEvery sets a mark in every recording each time that this has passed since the run began; 0: never.
	MarkEvery time.Duration
	// MarkWhen sets a mark in a process's recording each time that one of these becomes true of it.
	MarkWhen []watch.Condition
	// Marks delivers names of marks that are to be set in every recording; it may be nil.
	Marks <-chan string
	// MinEvents is how many events a process other than the main one must have: of one that has fewer, no recording is
	// kept.
	MinEvents uint64
	// NotMain says to Recover that the spool's first process is not the main one.
	NotMain bool
	// Addresses says that the blocks' addresses are to be kept in the recordings.
	Addresses bool
	// Residency says that it is recorded which pages of the processes' memory are in memory, over time.
	Residency bool
	// Version of heaptap, noted in the recordings.
	Version string
	// Dump prints what a request of the verbs Dump and Threshold asks for of a recording that is being written. It is
	// called from other goroutines. nil: such requests are errors.
	Dump func(recording string, q control.Request) ([]byte, error)
	// Names keeps the names of functions for the next run; nil: none are kept.
	Names *namecache.Cache
	// Fetch is asked for the debug files that are not on this machine, see symbolize.Options, when a recording ends;
	// nil: nothing is downloaded.
	Fetch func(ctx context.Context, id []byte) (path string, err error)
	// Report is called with what happens, from different goroutines, one call at a time. It must not wait for anything.
	Report func(Report)

	// memory bounds the queue; 0 means queueMemory. For tests.
	memory int64
	// inPlace puts what is recovered into the place of the recordings that a recorder has left.
	inPlace bool
	// nameless leaves out the search for names. For benchmarks.
	nameless bool
}

// Status is how a process ended.
type Status struct {
	Exited bool
	Code   int    // exit status, if Exited
	Signal int    // signal that ended it, or 0
	Text   string // the same in words; "" lets the reader find its own
	MaxRSS int64  // its largest resident set, in bytes, whatever it was by exec; 0: not known
}

// ReportKind says what a report is about.
type ReportKind uint8

// The kinds of reports.
const (
	Started  ReportKind = iota // a recording was begun
	Finished                   // a recording is complete
	Note                       // Text is a sentence for the user
	Settled                    // all that has ended is written; Running are the processes still being recorded
	Ready                      // processes that begin from now on may be part of the run; once, before all else
)

// Report says what happened.
type Report struct {
	Kind    ReportKind
	Path    string // of the recording
	PID     int
	Main    bool // the process is the main process (its first image or one that it executed)
	Exe     string
	Dropped bool          // Finished: it had fewer than Config.MinEvents events, and is not there any more
	Err     error         // Started, Finished: the recording could not be written, or not wholly
	Totals  *tally.Totals // Finished
	Threads int           // Finished
	// Resident is the largest resident set, in bytes, as far as it is known; Finished.
	Resident int64
	Health   event.Health  // Finished
	Elapsed  time.Duration // Finished: of the recorded process
	Unseen   string        // Finished: a sentence, also in Health.Notes, on allocations that were not seen; ""
	Text     string        // Note
	Running  []int         // Settled
	Seen     int           // Settled: images whose agent came up
}
