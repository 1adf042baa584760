package record

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/names"
	"github.com/heaptap/heaptap/internal/recording"
	unit "github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/tally"
)

// openUnit begins the run on disk, when its first program is to be recorded: from then on its name is known, which has
// the target's process id in it.
func (r *run) openUnit(pid int) {
	if r.config.Unit == nil || r.unit != nil || r.config.inPlace {
		return
	}
	info := *r.config.Unit
	info.Pid = cmp.Or(r.main.pid, pid)
	path := r.names.Run(info.Pid, info.Command, info.Rank, info.Host)
	note := func(text string) { r.report(Report{Kind: Note, Path: path, Text: text}) }
	r.unit = unit.NewWriter(path, info, cmp.Or(r.config.OutputMode, recording.OwnerOnly), note)
}

// resumeUnit goes on with a run whose recorder was killed, at the latest address that is known of its recordings.
func (r *run) resumeUnit(saved map[uint32]*journal.Saved) (err error) {
	if r.config.Unit == nil {
		return nil
	}
	info := *r.config.Unit
	path := r.names.Run(info.Pid, info.Command, info.Rank, info.Host)
	for _, s := range saved {
		path = cmp.Or(unit.Of(s.Recording), path)
	}
	note := func(text string) { r.report(Report{Kind: Note, Path: path, Text: text}) }
	r.unit, err = unit.Resume(path, info, cmp.Or(r.config.OutputMode, recording.OwnerOnly), note,
		len(saved) > 0 || len(r.config.Taken) > 0)
	return err
}

// member describes the process for its run.
func (p *process) member(desc *event.Process) unit.Program {
	m := unit.Program{
		Pid: desc.PID, ParentPid: desc.Parent, Forked: p.slot != 0, Start: time.Unix(0, desc.Started), Exe: desc.Exe,
		Command: desc.Args, Folder: desc.Dir, Label: unit.Label(desc.Exe, desc.Args),
	}
	if name := names.Program(&p.w.meta); name != filepath.Base(desc.Exe) {
		m.Called = name
	}
	if m.ParentPid == 0 {
		m.ParentPid = p.info.ParentPID
	}
	return m
}

// progressed notes for the run how much memory the process has used, if that has grown by an eighth.
func (p *process) progressed() {
	u := p.w.run.unit
	if u == nil || p.ended || p.number < 0 {
		return
	}
	live, resident := int64(p.out.Tally().Totals().Peak.Bytes), p.memory.rss
	if live > p.noted.live+p.noted.live/8 || resident > p.noted.resident+p.noted.resident/8 {
		p.noted.live, p.noted.resident = live, resident
		u.Update(p.number, live, resident)
	}
}

// leave finishes the process's part of its run: its recording, which is complete, is put where it belongs.
func (p *process) leave(end unit.Program) error {
	if p.w.run.unit == nil {
		err := p.file.PutBack()
		p.address = p.file.Path
		return errors.Join(err, p.replace())
	}
	var err error
	p.address, err = p.w.run.unit.End(p.number, end, func(path string) (string, error) {
		if path != "" && !p.inPlace() {
			p.file.Path = path
		}
		err := p.file.PutBack()
		err = errors.Join(err, p.replace())
		return p.file.Path, err
	})
	return err
}

// inPlace reports whether the recording takes the place of one that a recorder has left.
func (p *process) inPlace() bool {
	return p.w.run.config.inPlace && strings.HasSuffix(p.file.Path, recoveredSuffix)
}

// replace puts the recording into the place of the one that a recorder has left.
func (p *process) replace() error {
	if !p.inPlace() || p.err != nil {
		return nil
	}
	name := strings.TrimSuffix(p.file.Path, recoveredSuffix)
	if err := os.Rename(p.file.Path, name); err != nil {
		return err
	}
	if p.file.Path = name; p.w.run.unit == nil {
		p.address = name
	}
	return nil
}

// removeFile removes the process's recording.
func (p *process) removeFile() {
	p.file.Remove()
	if u := p.w.run.unit; u != nil {
		u.Drop(p.number)
	}
}

// ending describes the process's end for its run.
func (p *process) ending(e *recording.Ending, totals *tally.Totals) unit.Program {
	m := unit.Program{
		PeakLive: int64(totals.Peak.Bytes), PeakResident: p.memory.rss, Leaked: int64(totals.LiveBytes),
		Events: totals.Events, Lost: e.Health.LostEvents, Static: e.Health.StaticPrograms,
		End: time.Unix(0, p.started).Add(time.Duration(e.End)),
	}
	if e.Exited || e.Signal != 0 {
		m.Exit = unit.Exit{Known: true, Status: e.Code, Signal: e.Signal}
	}
	return m
}
