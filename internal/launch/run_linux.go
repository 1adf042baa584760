package launch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Config is what a run needs to know.
type Config struct {
	Args       []string // the command and its arguments
	Output     Output
	SpillLimit int64
	FreeStacks bool // record the call stack of each deallocation, too
	Console    *Console
	// Heard is called when a recording was begun, and when it is finished; it may be nil. It must not wait for anything.
	Heard func(rec Recording, finished bool)
	Flush time.Duration // how long what was recorded may stay in memory; 0: the recorder decides
	// Keep and MaxSize say what of a long run is kept in detail, see RecorderConfig.
	Keep    time.Duration
	MaxSize int64
	// Rescue makes recordings of a spool that a dead recorder left. End says how the spool's first process ended; nil: not known.
	Rescue func(ctx context.Context, spool string, config RecorderConfig, end *MainEnd) ([]Recording, error)
}

// Result is what became of a run.
type Result struct {
	Status     int // what run is to end with
	Recordings []Recording
	// Recorded is false if nothing was to be recorded, and the user was told so.
	Recorded    bool
	Wall        time.Duration // from the target's start to its end
	Complete    time.Duration // from the target's start until everything was written
	TargetCPU   time.Duration // of the target and the children that it waited for
	RecorderCPU time.Duration
	RecorderRSS int64
	Running     []int // processes that outlived the target and are still being recorded
}

// Run starts a recorder and the target, waits, and tells how it went. An error is a StatusError and means that the target did
// not run.
func Run(config Config) (*Result, error) {
	file, err := LookUp(config.Args[0], os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	s := &session{config: config, console: config.Console}
	obstacle := Inspect(file)
	env := os.Environ()
	if obstacle != nil {
		s.console.Warn("%s", obstacle.Text)
	}
	if obstacle == nil || obstacle.Alone {
		if env, err = s.prepare(env); err != nil {
			return nil, failed(err)
		}
	}
	s.mainExpected = obstacle == nil
	if s.witness, err = newWitness(); err != nil {
		s.abandon()
		return nil, failed(err)
	}
	defer s.witness.end()
	s.signals = takeSignals()

	s.started = time.Now()
	s.pid, err = spawn(file, config.Args, env)
	if isErrno(err, syscall.ENOEXEC) && isText(file) {
		// A script without a first line: execvp(3) and every shell give it to sh.
		args := append([]string{"sh", file}, config.Args[1:]...)
		s.pid, err = spawn("/bin/sh", args, env)
	}
	if err != nil {
		s.abandon()
		return nil, explainExec(file, err)
	}
	s.signals.targetStarted()
	if s.recorder != nil {
		s.recorder.tell(toRecorder{Main: &MainProcess{PID: s.pid}})
	}
	s.attend()
	s.settle()
	return &s.result, nil
}

func failed(err error) error {
	var status *StatusError
	if errors.As(err, &status) {
		return err
	}
	return &StatusError{Status: StatusFailed, Err: err}
}

// session is one run under way.
type session struct {
	config   Config
	console  *Console
	signals  *signals
	witness  *witness
	recorder *recorder // nil: nothing is recorded
	runDir   string

	recorderConfig RecorderConfig

	pid          int
	mainExpected bool // the main program should be recorded
	started      time.Time
	stopped      time.Time // when we heard of the target's latest stop
	resumed      time.Time // when run went on after a stop
	ended        time.Time
	offered      *Settled // the recorder's latest
	settled      *Settled
	recorderDied bool
	mainEnd      *MainEnd
	notes        []string
	result       Result
}

// prepare makes all that recording needs, and returns the target's environment.
func (s *session) prepare(env []string) ([]string, error) {
	runDir, err := makeRunFolder(s.config.Output.Dir)
	if err != nil {
		return nil, err
	}
	s.runDir = runDir
	library, err := UnpackAgent(s.config.Output.Dir)
	if err != nil {
		os.RemoveAll(runDir)
		return nil, err
	}
	s.recorderConfig = RecorderConfig{
		RunPID: os.Getpid(), RunDir: runDir, Output: s.config.Output.Template,
		SpillDir: s.config.Output.Dir, SpillLimit: s.config.SpillLimit, Flush: s.config.Flush,
		Keep: s.config.Keep, MaxSize: s.config.MaxSize,
	}
	s.recorder, err = startRecorder(s.recorderConfig)
	if err != nil {
		os.RemoveAll(runDir)
		return nil, err
	}
	env = targetEnv(env, library.Preload, runDir, s.config.Output.Dir, s.config.SpillLimit)
	if s.config.FreeStacks {
		env = set(env, FreeStacksVariable, func(string) string { return "1" })
	}
	return env, nil
}

// abandon undoes prepare: the target did not start.
func (s *session) abandon() {
	if s.recorder == nil {
		return
	}
	unix.Kill(s.recorder.pid, unix.SIGKILL)
	for range s.recorder.messages {
	}
	os.RemoveAll(s.runDir)
}

// attend waits for the target's end: passes signals on, stops when it stops.
func (s *session) attend() {
	changes, more := make(chan struct{}), make(chan struct{})
	go awaitChanges(s.pid, changes, more)
	var messages <-chan fromRecorder
	if s.recorder != nil {
		messages = s.recorder.messages
	}
	for {
		select {
		case sig := <-s.signals.arrivals:
			s.pass(sig.(syscall.Signal))
		case m, ok := <-messages:
			if !ok {
				messages, s.recorderDied = nil, true
				continue
			}
			s.hear(m)
		case <-changes:
			var status unix.WaitStatus
			var usage unix.Rusage
			pid, err := unix.Wait4(s.pid, &status, unix.WNOHANG|unix.WUNTRACED, &usage)
			switch {
			case err == unix.EINTR || err == nil && pid == 0:
			case err != nil: // somebody else reaped it; nothing more can be known
				s.end(MainEnd{Exit: StatusFailed}, &usage)
				return
			case status.Stopped():
				s.stopped = time.Now()
				s.stop(status.StopSignal())
			case status.Signaled():
				s.end(MainEnd{Exit: -1, Signal: int(status.Signal())}, &usage)
				return
			case status.Exited():
				s.end(MainEnd{Exit: status.ExitStatus()}, &usage)
				return
			}
			more <- struct{}{}
		}
	}
}

// awaitChanges tells when the process has stopped or ended, without taking that away.
func awaitChanges(pid int, changes chan<- struct{}, more <-chan struct{}) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		changes <- struct{}{}
		<-more
	}
}

// pass sends a signal on to the target, unless it has reached it already.
func (s *session) pass(sig syscall.Signal) {
	if notPassedOn[sig] {
		return
	}
	if s.witness.saw(sig) {
		s.signals.drop(sig)
		return
	}
	// When run goes on after a stop because of the target, the target usually does, too, and may have stopped again since
	// (in the background, reading from the terminal): a stop signal takes SIGCONT away from the witness.
	if sig == unix.SIGCONT && time.Since(s.resumed) < time.Second &&
		(processState(s.pid) != 'T' || s.stopped.After(s.resumed) || s.stopsAgain()) {
		return
	}
	unix.Kill(s.pid, sig)
}

// stopsAgain reports whether the target has stopped and we have not taken that in.
func (s *session) stopsAgain() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// stop stops run as the target was stopped, so that the shell takes the job for stopped.
func (s *session) stop(sig syscall.Signal) {
	// If run itself was stopped, the recorder stopped the target (see stopWatch), and we only see that now that run has
	// been continued. Then the signal that continued it is on its way to us.
	wait := time.After(30 * time.Millisecond)
	for waiting := true; waiting; {
		select {
		case sig := <-s.signals.arrivals:
			s.pass(sig.(syscall.Signal))
		case <-wait:
			waiting = false
		}
	}
	if processState(s.pid) != 'T' {
		return // it goes on already
	}
	s.announce(true)
	s.signals.stopSelf(sig)
	s.resumed = time.Now()
	s.announce(false)
	// Continued: usually as a group. If it was run alone, the signal is in the queue, and pass hands it on.
}

func (s *session) announce(stopped bool) {
	if s.recorder != nil {
		s.recorder.tell(toRecorder{Stopped: &stopped})
	}
}

func (s *session) end(end MainEnd, usage *unix.Rusage) {
	s.ended = time.Now()
	s.result.Wall = s.ended.Sub(s.started)
	s.result.TargetCPU = cpuTime(usage)
	s.mainEnd = &end
	s.result.Status = end.Exit
	if end.Signal != 0 {
		s.result.Status = 128 + end.Signal
	}
	if s.recorder != nil {
		s.recorder.tell(toRecorder{Ended: &end})
	}
}

// hear takes in what the recorder says.
func (s *session) hear(m fromRecorder) {
	if rec := cmp.Or(m.Started, m.Finished); rec != nil && s.config.Heard != nil {
		s.config.Heard(*rec, m.Finished != nil)
	}
	switch {
	case m.Finished != nil:
		s.result.Recordings = append(s.result.Recordings, *m.Finished)
	case m.Note != "":
		s.notes = append(s.notes, m.Note)
	case m.Settled != nil:
		s.offered = m.Settled
		s.consider()
	case m.Progress != "" && !s.ended.IsZero() && time.Since(s.ended) > time.Second:
		s.console.Progress(m.Progress)
	}
}

// consider takes the recorder's word that all is written, unless it holds somebody for running who is not: it will notice soon.
func (s *session) consider() {
	if s.offered == nil || s.ended.IsZero() {
		return
	}
	for _, pid := range s.offered.Running {
		if state := processState(pid); (state == 0 || state == 'Z') && time.Since(s.ended) < 3*time.Second {
			return
		}
	}
	s.settled = s.offered
}

// stoppedPatience is how long run waits for a recorder that somebody has stopped.
const stoppedPatience = 10 * time.Second

// settle waits until what the target did is written, unless the recorder cannot or the user does not want to wait.
func (s *session) settle() {
	s.result.Recorded = s.recorder != nil && s.mainExpected
	if s.recorder == nil {
		return
	}
	s.collect()
	s.console.Clear()
	s.result.Complete = time.Since(s.started)
	for _, note := range s.notes {
		if !s.toldLater(note) {
			s.console.Warn("%s", note)
		}
	}
	aside := len(marks(s.runDir))
	if s.settled != nil {
		aside = s.settled.Aside // the recorder may have removed the folder
	}
	if aside > 0 {
		s.console.Warn("%d of the executed programs ran unrecorded: limits or a full disk left the agent too little memory, file size or address space", aside)
	}
	if s.settled == nil {
		if s.recorderDied {
			s.rescue()
		}
		return
	}
	s.result.RecorderCPU, s.result.RecorderRSS = s.settled.CPU, s.settled.MaxRSS
	s.result.Running = s.settled.Running
	if s.mainExpected && s.settled.Seen == 0 {
		s.result.Recorded = false
		if aside > 0 {
			return
		}
		s.console.Warn("nothing was recorded: the agent did not come up in the target; "+
			"it may be static, setuid, clean its environment, or may not read %s", s.runDir)
	}
}

// toldLater says whether a note is about the error of a recording, which is told with that recording.
func (s *session) toldLater(note string) bool {
	return slices.ContainsFunc(s.result.Recordings, func(r Recording) bool {
		return r.Error != "" && strings.HasPrefix(note, r.Error)
	})
}

// collect hears the recorder until it has settled, died, or been given up.
func (s *session) collect() {
	if s.recorderDied {
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var stoppedSince time.Time
	told, slow := false, false
	for s.settled == nil {
		select {
		case m, ok := <-s.recorder.messages:
			if !ok {
				s.recorderDied = true
				return
			}
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
				if !told {
					told, stoppedSince = true, time.Now()
					s.console.Warn("the recorder (process %d) is stopped; `kill -CONT %d` lets it complete %s, Ctrl-C ends this wait",
						s.recorder.pid, s.recorder.pid, s.where())
				}
				if time.Since(stoppedSince) > stoppedPatience {
					s.console.Warn("the recorder is still stopped; not waiting any longer. The data is safe in %s", s.runDir)
					return
				}
				continue
			}
			told = false
			if !slow && time.Since(s.ended) > time.Second {
				slow = true
				s.console.Progress("completing the recording; Ctrl-C leaves that to the background ...")
			}
		}
	}
}

// where names the recordings that are being written.
func (s *session) where() string { return "the recording in " + s.config.Output.Dir }

// rescue makes recordings of the spools that a dead recorder left.
func (s *session) rescue() {
	s.console.Warn("the recorder died%s; what it had not written is taken from the spools", firstLine(filepath.Join(s.runDir, recorderLog)))
	spools, _ := filepath.Glob(filepath.Join(s.runDir, "*.spool"))
	for _, spool := range spools {
		if pid := spoolPID(spool); pid > 0 && pid != s.pid && processState(pid) != 0 {
			s.console.Warn("process %d still runs; when it has ended, `heaptap report %s` shows what it did", pid, spool)
			continue
		}
		var end *MainEnd
		if others, _ := filepath.Glob(filepath.Join(s.runDir, strconv.Itoa(s.pid)+"-*.spool")); spoolPID(spool) == s.pid && len(others) == 1 {
			end = s.mainEnd // of several images, nobody says which one was the last
		}
		recordings, err := s.config.Rescue(context.Background(), spool, s.recorderConfig, end)
		if err != nil {
			s.console.Warn("cannot make a recording of %s: %v; the spool stays where it is", spool, err)
			continue
		}
		os.Remove(spool)
		for i := range recordings {
			recordings[i].Main = recordings[i].PID == s.pid
		}
		s.result.Recordings = append(s.result.Recordings, recordings...)
	}
	s.result.Complete = time.Since(s.started)
	removeRunFolder(s.runDir)
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
