package control

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestCall: a request arrives and its answer comes back, also where the folder's name is longer than a socket's may be;
// nobody else can reach the socket; once it is closed, there is no recorder.
func TestCall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 50))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	want := Request{Verb: Mark, Text: "a\nb é", Spool: "x.spool", PID: 7}
	s, err := Listen(dir, func(q Request) Reply {
		if q.Verb == Flush {
			return Reply{Error: "no"}
		}
		if !reflect.DeepEqual(q, want) {
			t.Errorf("%+v", q)
		}
		return Reply{Processes: []Process{{PID: 7, File: "f"}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, socketName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if got, err := Call(dir, want); err != nil || len(got.Processes) != 1 || got.Processes[0].File != "f" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Call(dir, Request{Verb: Flush}); err == nil || err.Error() != "no" {
		t.Errorf("%v", err)
	}
	s.Close()
	if _, err := Call(dir, want); err == nil || !strings.Contains(err.Error(), "without a recorder") {
		t.Errorf("%v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("%v is left", list)
	}
}

// TestFind: a process that has mapped a spool, one whose stderr is a recorder's log, its parent, and others.
func TestFind(t *testing.T) {
	t.Parallel()
	if _, err := Find(os.Getpid()); err == nil || !strings.Contains(err.Error(), "is not being recorded") {
		t.Errorf("%v", err)
	}
	if _, err := Find(1 << 30); err == nil || !strings.Contains(err.Error(), "there is no process") {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("sh", "-c", "sleep 60 2>&3 & read x; kill $!")
	cmd.ExtraFiles = []*os.File{log}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	var run Run
	for range 1000 {
		if run, err = Find(cmd.Process.Pid); err == nil {
			break
		}
	}
	if err != nil || run.Dir != dir || run.Spool != "" {
		t.Errorf("%+v, %v", run, err)
	}
}
