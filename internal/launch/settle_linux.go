package launch

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/run"
	"golang.org/x/sys/unix"
)

// consider accepts the recorder's report that everything is written, unless the report lists a process as running that
// has ended: then the recorder will notice that soon, and report again.
func (s *session) consider() {
	if s.offered == nil || s.ended.IsZero() {
		return
	}
	for _, pid := range s.offered.Running {
		if s.recorderDone {
			break
		}
		if state := processState(pid); (state == 0 || state == 'Z') && time.Since(s.ended) < 3*time.Second {
			return
		}
	}
	s.settled = s.offered
}

// How long run waits for a recorder that somebody has stopped, and for one that does nothing.
const (
	stoppedPatience = 10 * time.Second
	idlePatience    = 2 * time.Minute
)

// settle waits until what the target did is written, unless the recorder cannot or the user does not want to wait.
func (s *session) settle() {
	s.result.Recorded = s.recorder != nil && s.mainExpected
	if s.recorder == nil {
		return
	}
	s.collect()
	defer func() { s.result.Named = s.named() }()
	Step(StepRunSettled)
	s.console.Clear()
	complete := time.Since(s.started)
	for _, note := range s.notes {
		if !s.isErrorOfRecording(note) {
			s.console.Warn("%s", note)
		}
	}
	aside := countMarks(s.runDir)
	if s.settled != nil {
		aside = s.settled.Aside // the recorder may have removed the folder
	}
	for _, a := range asides {
		if n := aside[a.mark]; n > 0 {
			s.console.Warn("%d of the executed programs ran unrecorded: %s", n, a.text)
		}
	}
	if s.settled == nil {
		if s.recorderDied {
			s.rescue()
		}
		return
	}
	s.result.Complete, s.result.RecorderCPU, s.result.RecorderRSS = complete, s.settled.CPU, s.settled.MaxRSS
	s.result.Running = s.settled.Running
	if s.mainExpected && s.settled.Seen == 0 {
		s.result.Recorded = false
		if len(aside) > 0 {
			return
		}
		if s.config.Chosen != "" {
			s.console.Warn("nothing was recorded: %s chose none of the programs that ran", s.config.Chosen)
			return
		}
		s.console.Warn("nothing was recorded: the agent did not come up in the target; "+
			"it may be static, setuid, clean its environment, live under a seccomp filter that heaptap does not "+
			"know, or may not read %s", s.runDir)
	}
}

// named returns Result.Named.
func (s *session) named() bool {
	isMain := func(r Recording) bool { return r.Main }
	return s.config.Chosen != "" || run.Passes(s.config.Args) || slices.ContainsFunc(s.begun, isMain) ||
		slices.ContainsFunc(s.result.Recordings, isMain)
}

// isErrorOfRecording says whether a note repeats a recording's error, which the summary shows with that recording.
func (s *session) isErrorOfRecording(note string) bool {
	return slices.ContainsFunc(s.result.Recordings, func(r Recording) bool {
		return r.Error != "" && strings.HasPrefix(note, r.Error)
	})
}

// collect handles the recorder's messages until everything is written, the recorder has died, or run gives it up.
func (s *session) collect() {
	if s.consider(); s.recorderDied || s.recorderDone {
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var stoppedSince time.Time
	stopReported, shown := false, ""
	work := idleness{pid: s.recorder.pid}
	for s.settled == nil {
		select {
		case m, ok := <-s.recorder.messages:
			if !ok {
				s.recorderOver()
				return
			}
			work.since = time.Time{}
			s.hear(m)
		case sig := <-s.signals.arrivals:
			switch sig {
			case unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP:
				s.console.Warn("not waiting any longer; the recorder (process %d) goes on and completes %s",
					s.recorder.pid, s.where())
				return
			case unix.SIGTSTP:
				s.signals.stopSelf(unix.SIGTSTP)
			}
		case <-tick.C:
			if s.consider(); s.settled != nil {
				return
			}
			if processState(s.recorder.pid) == 'T' {
				if !stopReported {
					stopReported, stoppedSince = true, time.Now()
					s.console.Warn("the recorder (process %d) is stopped; `kill -CONT %d` lets it complete %s, "+
						"Ctrl-C ends this wait",
						s.recorder.pid, s.recorder.pid, s.where())
				}
				if time.Since(stoppedSince) > stoppedPatience {
					s.console.Warn("the recorder is still stopped; not waiting any longer. The data is safe in %s",
						s.runDir)
					return
				}
				continue
			}
			stopReported = false
			if work.lasts() > idlePatience {
				s.console.Warn("the recorder (process %d) has done nothing for %v; not waiting any longer. "+
					"The data is safe in %s", s.recorder.pid, idlePatience, s.runDir)
				return
			}
			if doing := cmp.Or(s.doing, "completing the recording"); doing != shown &&
				time.Since(s.ended) > time.Second {
				shown = doing
				s.console.Progress(doing + "; Ctrl-C leaves that to the background ...")
			}
		}
	}
}

// idleness measures for how long a process has used almost no CPU time.
type idleness struct {
	pid   int
	since time.Time
	spent time.Duration // CPU time up to then
}

// lasts returns that time. Waiting for a disk is work.
func (i *idleness) lasts() time.Duration {
	// A recorder that only polls uses less than a tenth of this share of a CPU, a tenth.
	const next = 10
	state, spent := processWork(i.pid)
	if now := time.Now(); i.since.IsZero() || state == 'D' || (spent-i.spent)*next > now.Sub(i.since) {
		i.since, i.spent = now, spent
	}
	return time.Since(i.since)
}

// where names the recordings that are being written.
func (s *session) where() string { return "the recording in " + s.config.Output.Dir }

// rescue makes recordings of the spools that a dead recorder left.
func (s *session) rescue() {
	s.console.Warn("the recorder died%s; what it had not written is read from the spools",
		firstLine(filepath.Join(s.runDir, recorderLog)))
	spools, _ := filepath.Glob(filepath.Join(s.runDir, "*.spool"))
	for _, spool := range spools {
		if pid := spoolPID(spool); pid > 0 && pid != s.pid && processState(pid) != 0 {
			s.console.Warn("process %d still runs; when it has ended, `heaptap report %s` shows what it did", pid,
				spool)
			continue
		}
		var end *MainEnd
		if others, _ := filepath.Glob(filepath.Join(s.runDir,
			strconv.Itoa(s.pid)+"-*.spool")); spoolPID(spool) == s.pid && len(others) == 1 {
			end = s.mainEnd // of several images, it is not known which one was the last
		}
		config := s.recorderConfig
		config.Taken = s.taken(spoolPID(spool))
		if config.Unit != nil {
			config.Unit.Pid = s.pid
			if s.result.Run != "" {
				config.Output = strings.ReplaceAll(s.result.Run, "%", "%%")
			}
		}
		recordings, err := s.config.Rescue(context.Background(), spool, config, spoolPID(spool) == s.pid, end)
		if err != nil {
			s.console.Warn("cannot make a recording of %s: %v; the spool stays where it is", spool, err)
			continue
		}
		os.Remove(spool)
		for i := range recordings {
			recordings[i].Main = recordings[i].PID == s.pid
			if config.Unit != nil {
				s.result.Run = cmp.Or(run.Of(recordings[i].Path), s.result.Run)
			}
		}
		s.result.Recordings = append(s.result.Recordings, recordings...)
	}
	s.result.Complete = time.Since(s.started)
	removeRunFolder(s.runDir)
}

// taken lists the recordings that a rescued recording of a process must not replace: complete ones, and those of other
// processes.
func (s *session) taken(pid int) (paths []string) {
	for _, r := range s.result.Recordings {
		paths = append(paths, r.Path)
	}
	for _, r := range s.begun {
		if r.PID != pid {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// spoolPID takes the process id from a spool's name, PID-anything.spool.
func spoolPID(spool string) int {
	pid := 0
	for _, c := range filepath.Base(spool) {
		if c < '0' || c > '9' {
			break
		}
		pid = pid*10 + int(c-'0')
	}
	return pid
}
