package run

import (
	"fmt"
	"path"
	"time"

	"github.com/heaptap/heaptap/internal/lazy"
)

// Info is what a run is.
type Info struct {
	Format  int       `json:"format"`         // 1
	ID      string    `json:"id"`             // random
	Pid     int       `json:"pid,omitempty"`  // of the target; 0: not known
	Command []string  `json:"command"`        // as the user wrote it
	Folder  string    `json:"folder"`         // in which it was run
	Host    string    `json:"host,omitempty"` //
	Rank    string    `json:"rank,omitempty"` // in an MPI job; "": none
	Started time.Time `json:"started,omitzero"`
	Version string    `json:"version,omitempty"` // of heaptap
	// Chosen says that the user chose which programs were recorded: the command may not be one of them.
	Chosen bool `json:"chosen,omitempty"`
	// Matters is what Run.Matters returns, with the program's Member, if that cannot be found out any more: names were
	// replaced. nil: it can.
	Matters *Choice `json:"matters,omitempty"`
}

// Choice is the program of a run that matters.
type Choice struct {
	Member string `json:"member"`
	Sure   bool   `json:"sure,omitempty"`
}

// format is Info.Format of what this package writes.
const format = 1

// Exit is how a process ended.
type Exit struct {
	Known  bool `json:"known,omitempty"`
	Status int  `json:"status,omitempty"` // its exit status, if no signal killed it
	Signal int  `json:"signal,omitempty"` // the signal that killed it, or 0
}

// Program is one executed image of a process, or a forked child.
type Program struct {
	Pid       int       `json:"pid"`
	ParentPid int       `json:"ppid,omitempty"` // 0: not known
	Forked    bool      `json:"forked,omitempty"`
	Start     time.Time `json:"start,omitzero"`
	End       time.Time `json:"end,omitzero"` // zero: it runs, or its end is not known
	Exe       string    `json:"exe,omitempty"`
	Called    string    `json:"name,omitempty"`    // by which name the program was called, as sh for dash; "": its own
	Command   []string  `json:"command,omitempty"` // its arguments, cut if they are long
	Folder    string    `json:"folder,omitempty"`
	Label     string    `json:"label,omitempty"` // what it works on: a script, a source file; "": not known
	Exit      Exit      `json:"exit,omitzero"`
	// PeakLive and PeakResident are in bytes. While the program runs, they may lag behind.
	PeakLive     int64  `json:"peakLive,omitempty"`
	PeakResident int64  `json:"peakResident,omitempty"` // 0: not known
	Leaked       int64  `json:"leaked,omitempty"`       // bytes live at the end
	Events       uint64 `json:"events,omitempty"`
	Lost         uint64 `json:"lost,omitempty"`    // events that are not in the recording
	Static       uint64 `json:"static,omitempty"`  // statically linked programs it executed: they ran unrecorded
	Dropped      bool   `json:"dropped,omitempty"` // it had too few events, and has no recording
	Failed       bool   `json:"failed,omitempty"`  // it has no recording because that could not be made
	Member       string `json:"member,omitempty"`  // its recording's path in the folder, or where that was
	Packed       *Place `json:"packed,omitempty"`  // where the recording is in the pack; nil: it is a file
	Levels       Levels `json:"levels,omitempty"`  // once it has ended; nil: they have to be read, see Run.Levels

	Exec   int  `json:"-"` // how many programs of this process were recorded before
	Parent int  `json:"-"` // number of the program that started it, -1: not known
	Named  bool `json:"-"` // the one that the user named, through shims and shells, as far as that is sure
}

// Place is a section of a pack.
type Place struct {
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
}

// Running reports whether no end of the program is known.
func (p *Program) Running() bool { return p.End.IsZero() }

// Name is the base name of the program, by which it was called if that is known.
func (p *Program) Name() string {
	if p.Called != "" {
		return path.Base(p.Called)
	}
	if p.Exe != "" {
		return path.Base(p.Exe)
	}
	if len(p.Command) > 0 {
		return path.Base(p.Command[0])
	}
	return "program"
}

// Title is a program's name and what it works on.
func (p *Program) Title() string {
	if p.Label == "" {
		return p.Name()
	}
	return p.Name() + " " + p.Label
}

// memberOf is the path of a program's recording in its run's folder. Processes that begin one after another have their
// recordings in the same subfolder, which is made once.
func memberOf(p *Program, again int) string {
	suffix := ""
	if again > 0 {
		suffix = fmt.Sprintf("-%d", again+1)
	}
	return fmt.Sprintf("p/%02x/%d-%x%s.htap", p.Pid>>8&0xff, p.Pid, uint64(p.Start.UnixNano()), suffix)
}

// memberForm matches such a path.
var memberForm = lazy.Regexp(`^p/[0-9a-f]{2}/[0-9a-f-]{3,64}(\.[0-9]{1,5})?\.htap$`)

// check makes sure that what a file says of a program can be used.
func (p *Program) check() error {
	switch {
	case p.Member != "" && !memberForm().MatchString(p.Member):
		return fmt.Errorf("%q is not the name of a recording", p.Member)
	case p.Packed != nil && (p.Packed.Offset < 0 || p.Packed.Size < 0 || p.Packed.Offset+p.Packed.Size < 0):
		return fmt.Errorf("%d bytes at %d are not a place", p.Packed.Size, p.Packed.Offset)
	case p.Pid < 0 || p.PeakLive < 0 || p.PeakResident < 0 || p.Leaked < 0:
		return fmt.Errorf("a number is negative")
	}
	return nil
}
