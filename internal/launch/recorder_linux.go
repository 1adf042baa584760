package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RecorderCommand is the hidden command by which the program starts itself as the recorder.
const RecorderCommand = "__recorder"

const recorderFD = 3

// recorder is run's side of the recorder.
type recorder struct {
	pid      int
	conn     *os.File
	lines    *lines
	messages chan fromRecorder // closed when the recorder has ended
}

// startRecorder starts the recorder and waits until it is ready.
func startRecorder(config RecorderConfig) (*recorder, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make a socket pair for the recorder: %w", err)
	}
	unix.SetNonblock(pair[0], true) // so that a recorder that reads nothing cannot keep run waiting
	conn, theirs := os.NewFile(uintptr(pair[0]), "recorder"), os.NewFile(uintptr(pair[1]), "run")
	defer theirs.Close()
	logPath := filepath.Join(config.RunDir, recorderLog)
	log, err := os.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot write to the run's folder: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", RecorderCommand)
	cmd.Args[0] = "heaptap"
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("cannot start the recorder: %w", err)
	}
	theirs.Close()
	r := &recorder{pid: cmd.Process.Pid, conn: conn, lines: newLines(conn), messages: make(chan fromRecorder, 256)}
	go cmd.Wait()
	go r.read()
	if err := r.lines.send(toRecorder{Config: &config}); err != nil {
		return nil, fmt.Errorf("the recorder does not answer: %w%s", err, firstLine(logPath))
	}
	select {
	case m, ok := <-r.messages:
		switch {
		case !ok:
			return nil, fmt.Errorf("the recorder ended at once%s", firstLine(logPath))
		case m.Ready == nil:
			return nil, fmt.Errorf("the recorder speaks another language; was heaptap replaced while it ran?")
		case m.Ready.Error != "":
			return nil, fmt.Errorf("the recorder cannot work: %s", m.Ready.Error)
		}
	case <-time.After(20 * time.Second):
		unix.Kill(r.pid, unix.SIGKILL)
		return nil, fmt.Errorf("the recorder (process %d) did not get ready within 20 s", r.pid)
	}
	return r, nil
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

func (r *recorder) read() {
	defer close(r.messages)
	for {
		var m fromRecorder
		if err := r.lines.receive(&m); err != nil {
			return
		}
		r.messages <- m
	}
}

// tell sends a line; a recorder that does not listen misses it.
func (r *recorder) tell(m toRecorder) {
	r.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	r.lines.send(m)
}

// Link is the recorder's side: what it hears from run, and how it answers.
type Link struct {
	Config RecorderConfig
	// Main gets the main process once it was started, MainEnded how it ended. If run dies, both are closed.
	Main      <-chan MainProcess
	MainEnded <-chan MainEnd
	// Marks gets the names of marks to be set; it is never closed.
	Marks <-chan string

	lines *lines
	out   chan fromRecorder
	wait  sync.WaitGroup
}

// Serve is the recorder's process: it leaves everything that it inherited, takes run's orders and calls work, which sends Ready when
// the target may start, and returns when nothing is left to record, or an error if it cannot begin. Nothing but SIGKILL ends it before.
func Serve(work func(ctx context.Context, link *Link) error) error {
	leaveDescriptors()
	_ = os.WriteFile("/proc/self/comm", []byte("heaptap-rec"), 0) // prctl would name this thread, which may be any of the process's
	// At a shutdown or a log-out everybody gets SIGTERM. The recorded processes end by it, and so, a little later, does the
	// recorder: before, it has to write what they did.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN,
		unix.SIGTTOU, unix.SIGXFSZ, unix.SIGUSR1, unix.SIGUSR2)
	conn := os.NewFile(recorderFD, "run")
	if conn == nil {
		return fmt.Errorf("this command is for heaptap's own use; start a recording by `heaptap run`")
	}
	link := &Link{lines: newLines(conn), out: make(chan fromRecorder, 4096)}
	var first toRecorder
	if err := link.lines.receive(&first); err != nil || first.Config == nil {
		return fmt.Errorf("this command is for heaptap's own use; start a recording by `heaptap run`")
	}
	link.Config = *first.Config
	main, ended := make(chan MainProcess, 1), make(chan MainEnd, 1)
	link.Main, link.MainEnded = main, ended
	watch := &stopWatch{run: link.Config.RunPID}
	marks := make(chan string, 64)
	link.Marks = marks
	markOnSignals(link.Config.MarkOn, marks)
	go link.listen(main, ended, marks, watch)
	go watch.run1()
	link.wait.Go(func() {
		broken := false
		for m := range link.out {
			broken = broken || link.lines.send(m) != nil
		}
	})
	err := work(context.Background(), link)
	if err != nil {
		link.Send(Message{Failed: err.Error()})
	}
	close(link.out)
	link.wait.Wait()
	leaveRunFolder(link.Config.RunDir)
	return err
}

// markOnSignals has a mark of the signal's name set for each of these that this process gets.
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

// offer sends a name unless nobody has taken the ones before it for long.
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
			main <- *m.Main
		case m.Stopped != nil:
			watch.announced(*m.Stopped)
		case m.Mark != "":
			offer(marks, m.Mark)
		case m.Ended != nil:
			watch.forget()
			ended <- *m.Ended
			return
		}
	}
}

// Message is what the recorder tells run. One field is set.
type Message struct {
	Ready             bool
	Failed            string
	Started, Finished *Recording
	Note, Progress    string
	Settled           *Settled
}

// Send tells run something. It never waits: a run that is stopped or dead misses what is too much.
func (l *Link) Send(m Message) {
	out := fromRecorder{Started: m.Started, Finished: m.Finished, Note: m.Note, Progress: m.Progress, Settled: m.Settled}
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
	select {
	case l.out <- out:
	default:
	}
}

func cpuTime(usage *unix.Rusage) time.Duration {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
