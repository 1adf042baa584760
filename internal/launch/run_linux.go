package launch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/run"
	"golang.org/x/sys/unix"
)

// Config is what a run needs to know.
type Config struct {
	Args       []string // the command and its arguments
	Output     Output
	OutputMode fs.FileMode // the recordings' permissions; 0: only their owner may read them
	SpillLimit int64
	Version    string // of heaptap
	// Allocator is a library that is preloaded behind the agent; "": none.
	Allocator string
	// Preload are further libraries that are preloaded, behind it.
	Preload []string
	// Chosen names the flags that say which of the programs are recorded; "": all are. Ranks are those of an MPI job;
	// "": all.
	Chosen, Ranks string
	// MarkOn are signals that set a mark when run or its recorder gets them; the target does not get them from run.
	MarkOn []syscall.Signal
	// MarkEvery, MarkWhen and MinEvents: see RecorderConfig.
	MarkEvery  time.Duration
	MarkWhen   []string
	MinEvents  uint64
	FreeStacks bool // record the call stack of each deallocation, too
	Addresses  bool // keep where each block lay
	Residency  bool // record which pages are in memory
	Console    *Console
	// OnRecording is called when a recording was begun, and when it is finished; it may be nil. It must not wait for
	// anything.
	OnRecording func(rec Recording, finished bool)
	Flush       time.Duration // how long what was recorded may stay in memory; 0: the recorder decides
	// Keep and MaxSize say what of a long run is kept in detail, see RecorderConfig.
	Keep    time.Duration
	MaxSize int64
	// MaxDepth is how many frames of each call stack are kept, the innermost ones; 0: all.
	MaxDepth int
	// Command and CommandTime: see RecorderConfig.
	Command     string
	CommandTime time.Duration
	// Agent has the agent's variables, NAME=VALUE, that say what it records.
	Agent []string
	// Require says that a target that cannot be recorded must not run.
	Require bool
	// Rescue makes recordings of a spool that a dead recorder left. Main says whether the spool's first process is the
	// main one, end how that ended; nil: not known.
	Rescue func(ctx context.Context, spool string, config RecorderConfig, main bool, end *MainEnd) ([]Recording, error)
}

// Result is what became of a run.
type Result struct {
	Status     int // what run is to end with
	Recordings []Recording
	Run        string // the run's path, if it is kept as one unit and something was recorded
	// Recorded is false if nothing was to be recorded, and the user was told so.
	Recorded bool
	// Named is true if the command was recorded, or need not be: it stands for others, as a shell does, or the user has
	// chosen others.
	Named       bool
	Wall        time.Duration // from the target's start to its end
	Complete    time.Duration // from the target's start until everything was written; 0: that was not waited for
	TargetCPU   time.Duration // of the target and the children that it waited for
	RecorderCPU time.Duration
	RecorderRSS int64
	Running     []int // processes that outlived the target and are still being recorded
}

// Settle names the run's only recording by its file, if the run is one.
func (r *Result) Settle() {
	st, err := os.Stat(r.Run)
	if r.Run == "" || err != nil || st.IsDir() {
		return
	}
	for i := range r.Recordings {
		if run.Of(r.Recordings[i].Path) == r.Run {
			r.Recordings[i].Path = r.Run
		}
	}
}

// Matters returns the place of the recording of the program that matters in Recordings, and why it is that one; -1 if
// the run is not kept as one unit, or nothing was recorded.
func (r *Result) Matters() (i int, why string) {
	if r.Run == "" {
		return -1, ""
	}
	whole, err := run.Open(r.Run)
	if err != nil {
		return -1, ""
	}
	defer whole.Close()
	n, why, _ := whole.Matters()
	for i := range r.Recordings {
		if n >= 0 && (whole.IsRecording() || strings.HasSuffix(r.Recordings[i].Path, "/"+whole.Programs()[n].Member)) {
			return i, why
		}
	}
	return -1, ""
}

// Run starts a recorder and the target, waits, and tells how it went. An error is a StatusError and means that the
// target did not run.
func Run(config Config) (*Result, error) {
	file, err := LookUp(config.Args[0], os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	s := &session{config: config, console: config.Console}
	obstacle := Inspect(file)
	env := givenEnv()
	if obstacle != nil {
		s.console.Warn("%s", obstacle.Text)
	}
	recorded := rankIsChosen(s.config.Ranks, env)
	if recorded && (obstacle == nil || obstacle.Alone) {
		prepared, err := s.prepare(env)
		switch {
		case err == nil:
			env = prepared
		case config.Require:
			return nil, failed(err)
		default:
			s.console.Warn("%v; the program runs unrecorded", err)
			recorded = false
		}
	}
	s.mainExpected = obstacle == nil && recorded
	if s.witness, err = newWitness(); err != nil {
		s.abandon()
		return nil, failed(err)
	}
	defer s.witness.end()
	Step(StepRunWitness)
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
	Step(StepRunTarget)
	s.signals.targetStarted()
	if s.recorder != nil {
		s.recorder.send(toRecorder{Main: &MainProcess{PID: s.pid}})
	}
	Step(StepRunMain)
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
	recorderDone bool // it has ended, and all is written
	mainEnd      *MainEnd
	notes        []string
	begun        []Recording // all that the recorder has told of
	doing        string      // what the recorder says it does; "": nothing in particular
	result       Result
}

// prepare makes all that recording needs, and returns the target's environment.
func (s *session) prepare(env []string) ([]string, error) {
	before := env
	runDir, err := makeRunFolder(s.config.Output.Dir)
	if err != nil {
		return nil, err
	}
	s.runDir = runDir
	Step(StepRunFolder)
	library, err := UnpackAgent(s.config.Output.Dir)
	if err != nil {
		discardRunFolder(runDir)
		return nil, err
	}
	s.recorderConfig = RecorderConfig{
		RunPID: os.Getpid(), RunDir: runDir, Output: s.config.Output.Template, OutputMode: s.config.OutputMode,
		SpillDir: s.config.Output.Dir, SpillLimit: s.config.SpillLimit, Flush: s.config.Flush,
		Keep: s.config.Keep, MaxSize: s.config.MaxSize, MaxDepth: s.config.MaxDepth, Addresses: s.config.Addresses,
		MarkEvery: s.config.MarkEvery, MarkWhen: s.config.MarkWhen, MarkOn: s.config.MarkOn,
		MinEvents: s.config.MinEvents, Residency: s.config.Residency,
		Command: s.config.Command, CommandTime: s.config.CommandTime,
	}
	if !s.config.Output.Programs {
		s.recorderConfig.Unit = s.describe(env)
	}
	s.recorder, err = startRecorder(s.recorderConfig)
	if err != nil {
		discardRunFolder(runDir)
		return nil, err
	}
	if len(s.config.Preload) > 0 {
		env = set(env, preloadVariable, func(old string) string {
			return strings.Join(append(slices.Clone(s.config.Preload), old), ":")
		})
	}
	env = targetEnv(env, library.Preload, s.config.Allocator, runDir, s.config.Output.Dir, s.config.SpillLimit)
	env = setTo(env, filtersVariable, filters())
	if s.config.FreeStacks {
		env = setTo(env, FreeStacksVariable, "1")
	} else if os.Getenv(FreeStacksVariable) != "" { // the command line says otherwise
		env = setTo(env, FreeStacksVariable, "0")
	}
	if s.config.Chosen != "" {
		env = setTo(env, runPIDVariable, strconv.Itoa(os.Getpid()))
	}
	for _, v := range s.config.Agent {
		name, value, _ := strings.Cut(v, "=")
		env = setTo(env, name, value)
	}
	return withChanges(env, before), nil
}

// describe says what the run is.
func (s *session) describe(env []string) *run.Info {
	info := run.NewInfo()
	info.Command, info.Started = s.config.Args, time.Now()
	info.Folder, _ = os.Getwd()
	info.Host, _ = os.Hostname()
	info.Version, info.Chosen = s.config.Version, s.config.Chosen != ""
	if rank, ok := event.Rank(env); ok {
		info.Rank = strconv.FormatUint(rank, 10)
	}
	return &info
}

// abandon undoes prepare: the target did not start.
func (s *session) abandon() {
	if s.recorder == nil {
		return
	}
	s.recorder.kill()
	discardRunFolder(s.runDir)
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
				messages = nil
				s.recorderOver()
				continue
			}
			s.hear(m)
		case <-changes:
			childless := hasNoChildren(s.pid) // while it is a zombie that can be asked
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
				s.end(MainEnd{Exit: -1, Signal: int(status.Signal()), MaxRSS: s.ownMaxRSS(&usage, childless)}, &usage)
				return
			case status.Exited():
				s.end(MainEnd{Exit: status.ExitStatus(), MaxRSS: s.ownMaxRSS(&usage, childless)}, &usage)
				return
			}
			more <- struct{}{}
		}
	}
}

// recorderOver notes that the recorder has closed its connection.
func (s *session) recorderOver() {
	s.recorderDied = s.recorder.died()
	s.recorderDone = !s.recorderDied
	s.consider()
}

// ownMaxRSS returns the target's largest resident set in bytes; 0 if the kernel's number may be a child's, or this
// process's, whose memory the target shared until exec. This process's own ru_maxrss is no bound for that, since it
// includes the memory of the image that executed this program.
func (s *session) ownMaxRSS(usage *unix.Rusage, childless bool) int64 {
	if most := usage.Maxrss << 10; childless && most > highWater() {
		return most
	}
	return 0
}

// highWater returns this process's largest resident set since exec, in bytes; MaxInt64 if it is not known.
func highWater() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return math.MaxInt64
	}
	_, rest, _ := bytes.Cut(b, []byte("\nVmHWM:"))
	if f := bytes.Fields(rest[:min(len(rest), 40)]); len(f) > 0 {
		if n, err := strconv.ParseInt(string(f[0]), 10, 64); err == nil {
			return n << 10
		}
	}
	return math.MaxInt64
}

// hasNoChildren says whether a process, which may be a zombie, has never waited for a child.
func hasNoChildren(pid int) bool {
	const minorFaultsOfChildren = 11 // proc(5)
	f := statOf(pid)
	return len(f) > minorFaultsOfChildren-3 && string(f[minorFaultsOfChildren-3]) == "0"
}

// awaitChanges reports when the process has stopped or ended, without reaping it.
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

// pass forwards a signal to the target, unless the target has received it already.
func (s *session) pass(sig syscall.Signal) {
	if notPassedOn[sig] {
		return
	}
	if s.recorder != nil && slices.Contains(s.config.MarkOn, sig) {
		s.recorder.send(toRecorder{Mark: unix.SignalName(sig)})
		return
	}
	if s.witness.saw(sig) {
		s.signals.drop(sig)
		return
	}
	// When run continues after it stopped with the target, the target usually continues, too, and may have stopped
	// again (in the background, reading from the terminal). The stop signal then removed SIGCONT from the witness.
	if sig == unix.SIGCONT && time.Since(s.resumed) < time.Second &&
		(processState(s.pid) != 'T' || s.stopped.After(s.resumed) || s.stopsAgain()) {
		return
	}
	unix.Kill(s.pid, sig)
}

// stopsAgain says whether the target has stopped again, which attend has not handled yet.
func (s *session) stopsAgain() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// stop stops run as the target was stopped, so that the shell sees its job stopped.
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
		// Before this process stops; but a recorder that is stopped itself must not keep it.
		await(s.recorder.send(toRecorder{Stopped: &stopped}), time.Second)
	}
}

func (s *session) end(end MainEnd, usage *unix.Rusage) {
	Step(StepRunEnd)
	s.ended = time.Now()
	s.result.Wall = s.ended.Sub(s.started)
	s.result.TargetCPU = cpuTime(usage)
	s.mainEnd = &end
	s.result.Status = end.Exit
	if end.Signal != 0 {
		s.result.Status = 128 + end.Signal
	}
	if s.recorder != nil {
		s.recorder.send(toRecorder{Ended: &end})
	}
	Step(StepRunEnded)
}

// hear handles a message from the recorder.
func (s *session) hear(m fromRecorder) {
	if m.Started != nil {
		s.begun = append(s.begun, *m.Started)
	}
	if rec := cmp.Or(m.Started, m.Finished); rec != nil && s.recorderConfig.Unit != nil {
		s.result.Run = cmp.Or(run.Of(rec.Path), s.result.Run)
	}
	if rec := cmp.Or(m.Started, m.Finished); rec != nil && s.config.OnRecording != nil {
		s.config.OnRecording(*rec, m.Finished != nil)
	}
	switch {
	case m.Finished != nil && m.Finished.Dropped:
	case m.Finished != nil:
		s.result.Recordings = append(s.result.Recordings, *m.Finished)
	case m.Note != "":
		s.notes = append(s.notes, m.Note)
	case m.Settled != nil:
		s.offered = m.Settled
		s.consider()
	case m.Progress != "":
		s.doing = m.Progress
	}
}
