package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/sleep"
	"golang.org/x/sys/unix"
)

// RecorderCommand is the hidden command by which the program starts itself as the recorder.
const RecorderCommand = "__recorder"

const recorderFD = 3

// recorder is run's side of the recorder.
type recorder struct {
	pid      int
	conn     *os.File
	outbox   *outbox
	messages chan fromRecorder // closed when the recorder has ended
	ended    chan struct{}     // closed when it has ended and was reaped
	failed   error             // how, once that is closed; nil: it had done its work
}

// startRecorder starts the recorder and waits until it is ready. After an error, nothing of it is left.
func startRecorder(config RecorderConfig) (*recorder, error) {
	r, err := spawnRecorder(config)
	if err != nil {
		return nil, err
	}
	if err := r.awaitReady(config); err != nil {
		r.kill()
		return nil, err
	}
	return r, nil
}

func spawnRecorder(config RecorderConfig) (*recorder, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make a socket pair for the recorder: %w", err)
	}
	unix.SetNonblock(pair[0], true) // so that the read can be ended
	conn, theirs := os.NewFile(uintptr(pair[0]), "recorder"), os.NewFile(uintptr(pair[1]), "run")
	defer theirs.Close()
	log, err := os.OpenFile(filepath.Join(config.RunDir, recorderLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot write to the run's folder: %w", err)
	}
	defer log.Close()
	null, err := openNull()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot start the recorder: %w", err)
	}
	defer null.Close()
	cmd := exec.Command("/proc/self/exe", RecorderCommand)
	cmd.Args[0] = "heaptap"
	cmd.Dir = "/"
	cmd.Env = withoutPreload(os.Environ())
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot start the recorder: %w", err)
	}
	r := &recorder{pid: cmd.Process.Pid, conn: conn, messages: make(chan fromRecorder, 256), ended: make(chan struct{})}
	lines := newLines(conn)
	r.outbox = newOutbox(lines)
	go func() {
		r.failed = cmd.Wait()
		close(r.ended)
		hangUp(conn)
	}()
	go r.read(lines)
	return r, nil
}

// awaitReady configures the recorder and waits for its first message.
func (r *recorder) awaitReady(config RecorderConfig) error {
	Step(StepRunRecorder)
	r.send(toRecorder{Config: &config})
	Step(StepRunConfig)
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	// Count ticks instead of reading a clock: time during which this process was stopped or the machine asleep does not
	// count.
	for waited := time.Duration(0); ; {
		select {
		case m, ok := <-r.messages:
			switch {
			case !ok:
				return fmt.Errorf("the recorder ended at once%s", firstLine(filepath.Join(config.RunDir, recorderLog)))
			case m.Ready == nil:
				return fmt.Errorf("the recorder sent an unknown message; was heaptap replaced while it ran?")
			case m.Ready.Error != "":
				return fmt.Errorf("the recorder cannot work: %s", m.Ready.Error)
			}
			Step(StepRunReady)
			return nil
		case <-tick.C:
			if waited += pause; waited >= ReadyPatience && len(r.messages) == 0 {
				return fmt.Errorf("the recorder (process %d) did not get ready within %v", r.pid, ReadyPatience)
			}
		}
	}
}

// kill ends the recorder and waits until it is gone, unless its disk keeps it.
func (r *recorder) kill() {
	unix.Kill(r.pid, unix.SIGKILL)
	await(r.ended, stoppedPatience)
	r.close()
	for range r.messages {
	}
}

// died says whether a recorder that has closed its connection ended before its work was done.
func (r *recorder) died() bool {
	// Only the recorder closes the connection: it has ended, or is about to.
	return !await(r.ended, stoppedPatience) || r.failed != nil
}

// close ends the connection to a recorder that has ended, or that goes on alone.
func (r *recorder) close() {
	r.outbox.close()
	r.conn.Close()
}

// openNull opens /dev/null or, if there is none, an empty file in memory.
func openNull() (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		return f, nil
	}
	fd, memErr := unix.MemfdCreate("null", unix.MFD_CLOEXEC)
	if memErr != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "null"), nil
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return ""
	}
	for i, c := range b {
		if c == '\n' || i == 200 {
			b = b[:i]
			break
		}
	}
	return ": " + string(b)
}

func (r *recorder) read(lines *lines) {
	defer close(r.messages)
	for {
		var m fromRecorder
		if err := lines.receive(&m); err != nil && !errors.Is(err, errLine) {
			return
		}
		r.messages <- m // an invalid message has no field set, and is ignored
	}
}

// send queues a message and does not wait until it is sent. It arrives unless the recorder ends first.
func (r *recorder) send(m toRecorder) <-chan struct{} {
	step := ""
	switch {
	case m.Config != nil:
		step = StepRunSendConfig
	case m.Main != nil:
		step = StepRunSendMain
	case m.Ended != nil:
		step = StepRunSendEnded
	}
	return r.outbox.put(m, step)
}

// Link is the recorder's side of the connection to run.
type Link struct {
	Config RecorderConfig
	// Main receives the main process once it was started, MainEnded how it ended. Both are closed if run dies.
	Main      <-chan MainProcess
	MainEnded <-chan MainEnd
	// Marks receives the names of marks to set; it is never closed.
	Marks <-chan string

	lines  *lines
	outbox *outbox
}

// Serve is the main function of the recorder's process. It gives up everything that it inherited, reads its
// configuration from run, and calls work. work sends Ready when the target may start, and returns when nothing is left
// to record, or an error if it cannot begin. Only SIGKILL ends the process earlier.
func Serve(work func(ctx context.Context, link *Link) error) error {
	leaveDescriptors()
	// prctl(2) would name this thread only, which may be any of the process.
	_ = os.WriteFile("/proc/self/comm", []byte("heaptap-rec"), 0)
	// At a shutdown or a log-out every process gets SIGTERM. The recorder ignores it: it ends a little later than the
	// recorded processes, once it has written what they did.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN,
		unix.SIGTTOU, unix.SIGXFSZ, unix.SIGUSR1, unix.SIGUSR2)
	Step(StepRecorder)
	unix.SetNonblock(recorderFD, true) // so that the read can be ended
	conn := os.NewFile(recorderFD, "run")
	if conn == nil {
		return fmt.Errorf("this command is for heaptap's own use; start a recording by `heaptap run`")
	}
	link := &Link{lines: newLines(conn)}
	var first toRecorder
	if err := link.lines.receive(&first); err != nil || first.Config == nil {
		return fmt.Errorf("this command is for heaptap's own use; start a recording by `heaptap run`")
	}
	link.Config = *first.Config
	Step(StepRecorderConfig)
	link.outbox = newOutbox(link.lines)
	main, ended := make(chan MainProcess, 1), make(chan MainEnd, 1)
	link.Main, link.MainEnded = main, ended
	watch := &stopWatch{run: link.Config.RunPID, nap: sleep.New()}
	marks := make(chan string, 64)
	link.Marks = marks
	markOnSignals(link.Config.MarkOn, marks)
	go endWith(link.Config.RunPID, conn)
	go link.listen(main, ended, marks, watch)
	go watch.run1()
	err := work(context.Background(), link)
	if err != nil {
		link.Send(Message{Failed: err.Error()})
	}
	link.outbox.close()
	<-link.outbox.done // at the latest when run has ended
	Step(StepRecorderSent)
	leaveRunFolder(link.Config.RunDir)
	return err
}

// endWith closes the connection when run has ended, even if another process has inherited run's end of the socket.
func endWith(run int, conn *os.File) {
	fd, err := unix.PidfdOpen(run, 0)
	if err != nil && err != unix.ESRCH {
		return // an old kernel: rely on the end of the socket
	}
	if err == nil {
		defer unix.Close(fd)
		if os.Getppid() == run { // else run has ended already, and the pid may be another process's
			for {
				fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
				if n, err := unix.Poll(fds, -1); n > 0 || err != nil && err != unix.EINTR {
					break
				}
			}
		}
	}
	hangUp(conn)
}

// hangUp closes a connection whose other side has ended. It reads what was sent before, and then stops, even if another
// process has inherited the other end of the socket.
func hangUp(conn *os.File) {
	conn.SetWriteDeadline(time.Now())
	raw, err := conn.SyscallConn()
	for err == nil {
		left := 0
		err = raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		if left == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	conn.SetReadDeadline(time.Now())
}

// markOnSignals sends the signal's name to marks whenever this process receives one of the listed signals.
func markOnSignals(list []syscall.Signal, marks chan<- string) {
	if len(list) == 0 {
		return
	}
	arrivals := make(chan os.Signal, 64)
	for _, sig := range list {
		signal.Notify(arrivals, sig)
	}
	go func() {
		for sig := range arrivals {
			offer(marks, unix.SignalName(sig.(syscall.Signal)))
		}
	}()
}

// offer sends a name, or drops it if the channel is full.
func offer(marks chan<- string, name string) {
	select {
	case marks <- name:
	default:
	}
}

const recorderLog = "recorder.log"

// leaveRunFolder removes the run's folder if nothing but marks, filters and an empty log is left in it.
func leaveRunFolder(dir string) {
	for _, a := range asides {
		for _, m := range marks(dir, a.mark) {
			os.Remove(m)
		}
	}
	filters, _ := filepath.Glob(filepath.Join(dir, filtersFiles))
	for _, f := range filters {
		os.Remove(f)
	}
	log := filepath.Join(dir, recorderLog)
	if st, err := os.Stat(log); err == nil && st.Size() == 0 {
		os.Remove(log)
	}
	os.Remove(dir)
}

func (l *Link) listen(main chan<- MainProcess, ended chan<- MainEnd, marks chan<- string, watch *stopWatch) {
	defer close(main)
	defer close(ended)
	defer watch.forget()
	for {
		var m toRecorder
		if err := l.lines.receive(&m); err != nil {
			return
		}
		switch {
		case m.Main != nil:
			watch.target(m.Main.PID)
			Step(StepRecorderMain)
			main <- *m.Main
		case m.Stopped != nil:
			watch.announced(*m.Stopped)
		case m.Mark != "":
			offer(marks, m.Mark)
		case m.Ended != nil:
			watch.forget()
			Step(StepRecorderEnded)
			ended <- *m.Ended
			return
		}
	}
}

// Message is a message from the recorder to run. One field is set.
type Message struct {
	Ready             bool
	Failed            string
	Started, Finished *Recording
	Note, Progress    string
	Settled           *Settled
}

// Send queues a message to run and does not wait until run reads it. Every message arrives unless run has ended, except
// Progress, which is dropped when many messages are waiting.
func (l *Link) Send(m Message) {
	switch {
	case m.Progress != "" && l.outbox.waiting() > 16:
		return
	case m.Ready:
		Step(StepRecorderReady)
	case m.Started != nil:
		Step(StepRecorderStarted)
	case m.Finished != nil:
		Step(StepRecorderFinished)
	case m.Settled != nil:
		Step(StepRecorderSettled)
	}
	out := fromRecorder{Started: m.Started, Finished: m.Finished, Note: m.Note, Progress: m.Progress,
		Settled: m.Settled}
	if m.Ready || m.Failed != "" {
		out.Ready = &RecorderReady{PID: os.Getpid(), Error: m.Failed}
	}
	if m.Settled != nil {
		m.Settled.Aside = countMarks(l.Config.RunDir)
		var usage unix.Rusage
		if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
			m.Settled.CPU = cpuTime(&usage)
			m.Settled.MaxRSS = usage.Maxrss << 10
		}
	}
	l.outbox.put(out, "")
}

func cpuTime(usage *unix.Rusage) time.Duration {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
