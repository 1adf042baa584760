package input

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// process finds the recording of a process: one that is being recorded, or one that a run made here has recorded.
func (f *Finder) process(ctx context.Context, pid int, found *Found) error {
	reply, err := flush(pid)
	if err != nil {
		if path := recorded(pid); path != "" {
			own := *f
			if run.Is(path) && !f.All && f.Programs == nil {
				own.Programs = []string{strconv.Itoa(pid)}
			}
			return own.find(ctx, path, found)
		}
		return fmt.Errorf("%w; no run made here has recorded it", err)
	}
	// A process id may stand for a whole run: that of heaptap run, or of the recorder.
	list := reply.Processes
	if i := slices.IndexFunc(list, func(p control.Process) bool { return p.PID == pid }); i >= 0 {
		list = list[i : i+1]
	}
	if len(list) == 0 {
		return fmt.Errorf("process %d: nothing is recorded yet", pid)
	}
	at := run.Of(list[0].File)
	if at != "" && run.Is(at) { // a process, or a whole run
		own := *f
		if len(list) == 1 && !f.All && f.Programs == nil {
			own.Programs = []string{strconv.Itoa(list[0].PID)}
		}
		return own.find(ctx, outfile.Relative(at), found)
	}
	if len(list) > 1 {
		return severalError(pid, list)
	}
	path := outfile.Relative(list[0].File)
	if at != "" { // a run of one program is that recording's file
		path = outfile.Relative(at)
	}
	f.say("%s: process %d", path, list[0].PID)
	found.Recordings = []Recording{File(path)}
	return nil
}

// runOf finds the run of a process: one that is being recorded, or one made here.
func runOf(pid int) (string, error) {
	at, err := control.Find(pid)
	if err == nil {
		var reply control.Reply
		reply, err = control.Call(at.Dir, control.Request{Verb: control.Status, Spool: at.Spool, PID: pid})
		if err == nil && len(reply.Processes) > 0 {
			path := reply.Processes[0].File
			if r := run.Of(path); r != "" {
				path = r
			}
			return outfile.Relative(path), nil
		}
	}
	if path := recorded(pid); path != "" {
		return path, nil
	}
	if err == nil {
		return "", fmt.Errorf("process %d: nothing is recorded yet", pid)
	}
	return "", fmt.Errorf("%w; no run made here has recorded it", err)
}

// severalError says that a process id stands for several recordings.
func severalError(pid int, list []control.Process) error {
	text := ""
	for _, p := range list[:min(5, len(list))] {
		text += fmt.Sprintf(" %d (%s)", p.PID, p.Program)
	}
	return fmt.Errorf("process %d: stands for %d processes that are being recorded; name one of them:%s", pid,
		len(list), text)
}

// recorded returns the latest run in the working directory that has recorded a process; "" if there is none.
func recorded(pid int) string {
	list, err := run.List(".")
	if err != nil {
		return ""
	}
	for _, e := range list {
		if !e.Ours {
			continue
		}
		if e.Info.Pid == pid {
			return e.Path
		}
		if e.Single {
			continue
		}
		r, err := run.Open(e.Path)
		if err != nil {
			continue
		}
		has := slices.ContainsFunc(r.Programs(), func(p run.Program) bool { return p.Pid == pid })
		r.Close()
		if has {
			return e.Path
		}
	}
	return ""
}

// flush has the recorder of a process write everything that has happened.
func flush(pid int) (control.Reply, error) {
	at, err := control.Find(pid)
	if err != nil {
		return control.Reply{}, err
	}
	reply, err := control.Call(at.Dir, control.Request{Verb: control.Flush, Spool: at.Spool, PID: pid})
	if err != nil {
		return reply, err
	}
	var failed error
	for _, p := range reply.Processes {
		if p.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("process %d: %s", p.PID, p.Error))
		}
	}
	return reply, failed
}

// flushWhole brings all recordings up to date of the run that a process belongs to, and reports whether it could.
func flushWhole(pid int) bool {
	at, err := control.Find(pid)
	if err == nil {
		_, err = control.Call(at.Dir, control.Request{Verb: control.Flush})
	}
	return err == nil
}

// flushFile brings a recording up to date that is still being written.
func (f *Finder) flushFile(path string) {
	file, err := private.OpenRegular(path)
	if err != nil {
		return
	}
	defer file.Close()
	if live, _ := private.Locked(file); live {
		if p, _, err := recording.Peek(file); err == nil {
			f.flushed(p.PID, path)
		}
	}
}

// Live reports whether a recorder writes the recording's file.
func (r *Recording) Live() bool {
	f, err := private.OpenRegular(r.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	live, _ := private.Locked(f)
	return live
}

// flushRun brings programs of a run up to date that still run.
func (f *Finder) flushRun(r *run.Run, chosen []int) {
	if !r.Live() {
		return
	}
	programs := r.Programs()
	for _, i := range chosen {
		if p := &programs[i]; p.Running() {
			f.flushed(p.Pid, r.Path())
		}
	}
}

// flushed flushes a process, if it still runs, and tells the user if that fails: then the answer is of what has been
// written before.
func (f *Finder) flushed(pid int, path string) {
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err != nil {
		return
	}
	if _, err := flush(pid); err != nil {
		f.say("%s: what has happened last is missing: %v", path, err)
	}
}
