package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
	"golang.org/x/sys/unix"
)

// program is a program that a test records.
type program struct {
	pid, parent int
	args        []string
	live        uint64 // bytes that it allocates and keeps
	resident    int64
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

// recorder writes a run as the recorder does.
type recorder struct {
	*run.Writer
	t     testing.TB
	start time.Time
	notes []string
}

func newRecorder(t testing.TB, path string, target int) *recorder {
	info := run.NewInfo()
	info.Pid, info.Command, info.Folder, info.Started = target, []string{"sh", "-c", "x"}, "/src", began
	r := &recorder{t: t, start: began}
	r.Writer = run.NewWriter(path, info, 0, func(text string) { r.notes = append(r.notes, text) })
	return r
}

// recorded is a program that is being recorded.
type recorded struct {
	r    *recorder
	n    int
	out  *recording.Writer
	p    program
	path string
}

func (r *recorder) begin(p program) *recorded {
	r.t.Helper()
	d := &recorded{r: r, p: p}
	r.start = r.start.Add(time.Second)
	desc := event.Process{PID: p.pid, Exe: "/usr/bin/" + p.args[0], Args: p.args, Dir: "/src",
		Started: r.start.UnixNano()}
	var err error
	d.n, d.path, err = r.Begin(
		run.Program{Pid: p.pid, ParentPid: p.parent, Start: r.start, Exe: desc.Exe, Command: p.args,
			Folder: desc.Dir, Label: run.Label(desc.Exe, p.args)},
		func(path, _ string) (string, error) {
			d.out, err = recording.Create(path, desc, recording.Options{})
			return path, err
		},
	)
	if err != nil {
		r.t.Fatal(err)
	}
	d.out.Thread(0, event.Thread{TID: 1})
	if err := d.out.Event(&event.Event{Kind: event.Alloc, Size: max(1, p.live)}); err != nil {
		r.t.Fatal(err)
	}
	d.out.Sample(event.Sample{Time: 5, RSS: p.resident})
	if err := d.out.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return d
}

// large makes the recording too large for the pack.
func (d *recorded) large() *recorded {
	for i := range uint32(60000) {
		d.out.PC(i+1, event.PC{Addr: uint64(i*i*2654435761 + 12345)})
	}
	return d
}

func (d *recorded) end(status int) string {
	d.r.t.Helper()
	if err := d.out.Finish(recording.Ending{End: int64(time.Second), Exited: true, Code: status}); err != nil {
		d.r.t.Fatal(err)
	}
	address, err := d.r.End(
		d.n,
		run.Program{End: d.r.start.Add(time.Second), Exit: run.Exit{Known: true, Status: status},
			PeakLive: int64(d.p.live), PeakResident: d.p.resident, Leaked: int64(d.p.live), Events: 1},
		func(path string) (string, error) { return path, nil },
	)
	if err != nil {
		d.r.t.Fatal(err)
	}
	return address
}

func open(t *testing.T, path string) *run.Run {
	t.Helper()
	r, err := run.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// text describes a run's programs, a line each.
func text(r *run.Run) string {
	var b strings.Builder
	for i, p := range r.Programs() {
		fmt.Fprintf(&b, "%d<%d %s live %d resident %d exit %v,%d", p.Pid, p.Parent, strings.Join(p.Command, " "),
			p.PeakLive, p.PeakResident, p.Exit.Known, p.Exit.Status)
		rec, err := r.OpenProgram(i)
		if err != nil {
			fmt.Fprintf(&b, " %v\n", err)
			continue
		}
		if got := rec.Process().PID; got != p.Pid {
			fmt.Fprintf(&b, " recording of %d", got)
		}
		if p.Packed != nil {
			b.WriteString(" packed")
		}
		if p.Named {
			b.WriteString(" named")
		}
		b.WriteString("\n")
		rec.Close()
	}
	return b.String()
}

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sh.7.htap")
	w := newRecorder(t, path, 7)
	first := w.begin(program{7, 1, []string{"sh", "-c", "x"}, 10, 1000})
	r := open(t, path)
	if want := "7<-1 sh -c x live 0 resident 1000 exit false,0 named\n"; !r.IsRecording() || !r.Live() ||
		r.Damage() != "" || text(r) != want {
		t.Errorf("a file: live %v, damage %q\n%s", r.Live(), r.Damage(), text(r))
	}
	second := w.begin(program{8, 7, []string{"python3", "big.py"}, 500, 9000})
	if got := names(t, dir); got != "sh.7.htap" {
		t.Errorf("the folder has %s", got)
	}
	if got := text(r); got != "7<-1 sh -c x live 0 resident 1000 exit false,0 named\n" {
		t.Errorf("who has opened the file reads %s", got)
	}
	first.end(3)
	r = open(t, path)
	if r.IsRecording() || !r.Live() || r.Damage() != "" || r.Info().Pid != 7 {
		t.Errorf("a folder: live %v, damage %q, %+v", r.Live(), r.Damage(), r.Info())
	}
	if got, want := text(r), "7<-1 sh -c x live 10 resident 1000 exit true,3 packed\n"+
		"8<0 python3 big.py live 0 resident 0 exit false,0 named\n"; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	second.end(0)
	w.Close()
	after := open(t, path)
	want := "7<-1 sh -c x live 10 resident 1000 exit true,3 packed\n" +
		"8<0 python3 big.py live 500 resident 9000 exit true,0 packed named\n"
	if got := text(after); got != want || after.Live() || after.Damage() != "" {
		t.Errorf("live %v, damage %q, got\n%s, want\n%s", after.Live(), after.Damage(), got, want)
	}
	if changed, err := r.Refresh(); !changed || err != nil || text(r) != want {
		t.Errorf("refreshed: %v %v\n%s", changed, err, text(r))
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if len(w.notes) > 0 {
		t.Error(w.notes)
	}
	// The index is lost: the pack says the same.
	if err := os.Truncate(filepath.Join(path, "index"), 0); err != nil {
		t.Fatal(err)
	}
	if r := open(t, path); text(r) != want || r.Damage() == "" {
		t.Errorf("without an index: damage %q\n%s", r.Damage(), text(r))
	}
}

// TestPackedSince: what was found out about a program stays when its recording has moved into the pack.
func TestPackedSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sh.7.htap")
	w := newRecorder(t, path, 7)
	w.begin(program{7, 1, []string{"sh", "-c", "x"}, 10, 1000}).end(0)
	second := w.begin(program{7, 1, []string{"python3", "big.py"}, 500, 9000})
	r := open(t, path)
	second.end(0)
	rec, err := r.OpenProgram(1)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if p := r.Programs()[1]; p.Packed == nil || p.Exec != 1 || p.Parent != -1 || !p.Named {
		t.Errorf("%+v", p)
	}
}

func pipe(path string) error {
	_ = os.Remove(path)
	return unix.Mkfifo(path, 0o600)
}

// TestReadOnce: of a complete recording, the first reader is what Open has read; each has its file for itself.
func TestReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
	if err == nil {
		err = w.Finish(recording.Ending{End: 1, Exited: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	// descriptors counts those that lead to the recording.
	descriptors := func() (n int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && to == path {
				n++
			}
		}
		return n
	}
	reader := func(r *run.Run) *recording.Reader {
		t.Helper()
		rec, err := r.OpenProgram(0)
		if err != nil || !rec.Complete() {
			t.Fatal(err)
		}
		return rec
	}
	r := open(t, path)
	before := descriptors()
	first := reader(r)
	if n := descriptors(); n != before {
		t.Errorf("the first reader has opened the file again: %d descriptors, then %d", before, n)
	}
	second := reader(r)
	if err := errors.Join(first.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := second.Content().ReadAt(make([]byte, 8), 0); err != nil || descriptors() != 1 {
		t.Errorf("the second reader: %v, %d descriptors", err, descriptors())
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	r = open(t, path)
	if err := r.LetGo(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(reader(r).Close(), r.Close()); err != nil || descriptors() != 0 {
		t.Errorf("let go: %v, %d descriptors are left", err, descriptors())
	}
}
