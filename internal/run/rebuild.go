package run

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
)

// complete adds what the index lacks: from the pack, whose entries describe themselves, and from the recordings.
func (r *Run) complete() {
	known := map[string]int{}
	for i := range r.index.programs {
		known[r.index.programs[i].Member] = i
	}
	found := 0
	take := func(p Program) {
		i, ok := known[p.Member]
		if ok {
			r.index.programs[i] = p
			return
		}
		found++
		known[p.Member] = len(r.index.programs)
		r.index.programs = append(r.index.programs, p)
	}
	if !r.over || r.index.broken != nil {
		if f, err := r.regular(packName); err == nil {
			if st, err := f.Stat(); err == nil {
				_, _ = readPack(f, st.Size(), func(e *entry) error {
					p, err := e.program()
					if err == nil && p.Member != "" && e.kind == entryProgram {
						take(p)
					}
					return err
				})
			}
			f.Close()
		}
	}
	there := r.members()
	missing, pack := 0, int64(0)
	if f, err := r.regular(packName); err == nil {
		if st, err := f.Stat(); err == nil {
			pack = st.Size()
		}
		f.Close()
	}
	for i := range r.index.programs {
		p := &r.index.programs[i]
		switch {
		case p.Dropped:
		case p.Packed != nil:
			if p.Packed.Offset > pack-p.Packed.Size {
				missing++
				p.Dropped = true
			}
		case !there[p.Member]:
			if !p.Running() { // else the recorder was killed before it had made the recording
				missing++
			}
			p.Dropped = true // there is nothing to open
		case p.Running() || !r.over:
			if rec, err := r.openProgram(p); err == nil {
				p.learn(rec)
				rec.Close()
			} else if r.isEmpty(p.Member) {
				p.Dropped, p.Failed = true, r.over // likewise, before it had written to it; or the disk was full
			} else {
				r.damage = append(r.damage, fmt.Sprintf("%s cannot be read: %v", p.Member, err))
			}
		}
	}
	if missing > 0 {
		r.damage = append(r.damage, fmt.Sprintf("%d of its recordings are missing", missing))
	}
	for _, member := range slices.Sorted(maps.Keys(there)) {
		if _, ok := known[member]; ok {
			continue
		}
		rec, err := r.openProgram(&Program{Member: member})
		if err != nil && r.isEmpty(member) {
			r.index.programs = append(r.index.programs, Program{Dropped: true, Failed: r.over})
			continue
		}
		if err != nil {
			r.damage = append(r.damage, fmt.Sprintf("%s cannot be read: %v", member, err))
			continue
		}
		p := ProgramOf(rec)
		p.Member = member
		take(p)
		rec.Close()
	}
	if found > 0 && r.over {
		r.damage = append(r.damage, fmt.Sprintf("%d of its recordings were not in the index", found))
	}
}

// members finds the recordings in the folder.
func (r *Run) members() map[string]bool {
	found := map[string]bool{}
	in := r.root.FS()
	parts, err := fs.ReadDir(in, membersIn)
	if err != nil {
		return found
	}
	for _, part := range parts {
		dir := path.Join(membersIn, part.Name())
		files, err := fs.ReadDir(in, dir)
		if err != nil || !part.IsDir() {
			continue
		}
		for _, f := range files {
			if member := path.Join(dir, f.Name()); f.Type().IsRegular() && memberForm().MatchString(member) {
				found[member] = true
			}
		}
	}
	return found
}

// ProgramOf describes the program of a recording.
func ProgramOf(rec *recording.Reader) Program {
	d := rec.Process()
	p := Program{Pid: max(0, d.PID), ParentPid: max(0, d.Parent), Forked: d.Parent != 0, Start: time.Unix(0, d.Started),
		Exe: d.Exe, Command: d.Args, Folder: d.Dir, Label: Label(d.Exe, d.Args)}
	p.learn(rec)
	return p
}

// learn takes over what a recording says of its program's memory and end.
func (p *Program) learn(rec *recording.Reader) {
	if sum := rec.StoredTally(); sum != nil {
		p.PeakLive, p.Leaked = signed(sum.Totals.Peak.Bytes), signed(sum.Totals.LiveBytes)
		p.Events = sum.Totals.Events
	}
	for _, s := range rec.Samples() {
		p.PeakResident = max(p.PeakResident, s.RSS)
	}
	e, ended := rec.Ending()
	if !ended {
		return
	}
	p.End = p.Start.Add(time.Duration(e.End))
	p.Lost, p.Static = e.Health.LostEvents, e.Health.StaticPrograms
	if e.Exited || e.Signal != 0 {
		p.Exit = Exit{Known: true, Status: e.Code, Signal: e.Signal}
	}
	if p.Events == 0 {
		p.Events = rec.PromisedEvents()
	}
}

func signed(n uint64) int64 { return int64(min(n, 1<<62)) }

// temporaryPrefix begins the names of what becomes the run at a path.
func temporaryPrefix(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return "." + base + ".tmp-"
}
