package launch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/run"
)

// toRecorder is a line from run to the recorder. One field is set.
type toRecorder struct {
	Config  *RecorderConfig `json:",omitempty"`
	Main    *MainProcess    `json:",omitempty"` // the target was started
	Stopped *bool           `json:",omitempty"` // run is about to stop because the target did, or goes on
	Ended   *MainEnd        `json:",omitempty"`
	Mark    string          `json:",omitempty"` // name of a mark to be set now
}

// RecorderConfig is the recorder's configuration, the first message that it receives.
type RecorderConfig struct {
	RunPID     int
	RunDir     string
	Output     string    // template, absolute
	Unit       *run.Info `json:",omitempty"` // what the run is, if it is kept as one unit; nil: a file for each program
	OutputMode fs.FileMode
	Taken      []string `json:",omitempty"` // recordings that must not be replaced, when the run's recorder has died
	SpillDir   string
	SpillLimit int64
	Flush      time.Duration // how long recorded events may stay in memory; 0: the recorder decides
	Keep       time.Duration // older events may be folded into sums; 0: they are not folded by age
	MaxSize    int64         // size of a recording, in bytes, above which the oldest events are folded; 0: no bound
	MarkEvery  time.Duration // interval at which a mark is set in every recording; 0: never
	MarkWhen   []string      // conditions: set a mark each time that one of them becomes true
	MarkOn     []syscall.Signal
	MinEvents  uint64 // recordings with fewer events are not kept, except the main process's
	MaxDepth   int    // frames of a call stack that are kept; 0: all
	Addresses  bool   // keep where each block lay
	Residency  bool   // record which pages are in memory
	// Command is a shell command that the threshold monitor runs, for at most CommandTime.
	Command     string
	CommandTime time.Duration
}

// MainProcess is the process that run started.
type MainProcess struct {
	PID int
}

// MainEnd is how the process that run started ended.
type MainEnd struct {
	Exit   int // exit status, or -1
	Signal int // signal that killed it, or 0
	// MaxRSS is the largest resident set of all images that the process executed, in bytes; 0: not known.
	MaxRSS int64 `json:",omitempty"`
}

// fromRecorder is a line from the recorder to run. One field is set.
type fromRecorder struct {
	Ready    *RecorderReady `json:",omitempty"`
	Started  *Recording     `json:",omitempty"`
	Finished *Recording     `json:",omitempty"`
	Note     string         `json:",omitempty"` // a sentence for the user
	Progress string         `json:",omitempty"` // what is being done, for a terminal
	Settled  *Settled       `json:",omitempty"`
}

// RecorderReady is the recorder's first line.
type RecorderReady struct {
	PID   int
	Error string `json:",omitempty"` // it cannot work, and ends
}

// Recording is one recording of the run.
type Recording struct {
	Path    string // its address, see run.OpenRecording
	PID     int
	Main    bool   // of the process that run started, and of images that it executed
	Program string // base name of the executable
	Error   string `json:",omitempty"` // why it could not be written, or not completely
	Events  uint64
	Lost    uint64
	Dropped bool   `json:",omitempty"` // it had fewer events than MinEvents and was removed
	Peak    uint64 // bytes
	// Resident is the largest resident set, in bytes; 0: not known.
	Resident int64  `json:",omitempty"`
	Leaked   uint64 // bytes
	Unseen   string `json:",omitempty"` // a sentence on allocations that went past the agent
}

// Settled says that everything about processes that have ended is written.
type Settled struct {
	CPU     time.Duration  // of the recorder
	MaxRSS  int64          // bytes
	Running []int          // processes that are still being recorded
	Seen    int            // images whose agent came up
	Aside   map[string]int `json:",omitempty"` // and those whose agent stepped aside, by its reason: see asides
}

// lines sends and receives JSON lines.
type lines struct {
	w io.Writer
	r *bufio.Reader
}

func newLines(rw io.ReadWriter) *lines { return &lines{w: rw, r: bufio.NewReaderSize(rw, 1<<16)} }

func (l *lines) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot encode a message: %w", err)
	}
	_, err = l.w.Write(append(b, '\n'))
	return err
}

// errLine says that a received line is not a message.
var errLine = errors.New("not a message")

// receive reads one line of at most 1 MiB.
func (l *lines) receive(v any) error {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			if err := json.Unmarshal(line, v); err != nil {
				return fmt.Errorf("%w: %w", errLine, err)
			}
			return nil
		}
		if err != bufio.ErrBufferFull {
			return err
		}
		if len(line) > 1<<20 {
			return fmt.Errorf("%w: more than 1 MiB", errLine)
		}
	}
}
