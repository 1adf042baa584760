package launch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets this program be a recorder that does not do what one should.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == RecorderCommand {
		badRecorder(os.Getenv("BAD_RECORDER"))
		return
	}
	os.Exit(m.Run())
}

func badRecorder(how string) {
	conn := os.NewFile(recorderFD, "run")
	switch how {
	case "ends":
		fmt.Fprintln(os.Stderr, "no memory")
	case "other language":
		fmt.Fprintln(conn, "HELLO 2")
		time.Sleep(time.Hour)
	case "other version":
		fmt.Fprintln(conn, `{"Greeting":{"Version":9}}`)
		time.Sleep(time.Hour)
	case "cannot":
		newLines(conn).send(fromRecorder{Ready: &RecorderReady{Error: "no room"}})
		time.Sleep(time.Hour)
	case "silent":
		time.Sleep(time.Hour)
	}
}

// TestFailedStart has recorders that do not get ready: of none is anything left.
func TestFailedStart(t *testing.T) {
	defer func(d time.Duration) { ReadyPatience = d }(ReadyPatience)
	ReadyPatience = 200 * time.Millisecond
	for how, want := range map[string]string{
		"ends": "ended at once: no memory", "other language": "sent an unknown message",
		"other version": "sent an unknown message",
		"cannot":        "cannot work: no room", "silent": "did not get ready within 200ms",
	} {
		t.Run(how, func(t *testing.T) {
			t.Setenv("BAD_RECORDER", how)
			if how != "silent" {
				ReadyPatience = time.Minute
			} else {
				ReadyPatience = 200 * time.Millisecond
			}
			before := descriptors(t)
			_, err := startRecorder(RecorderConfig{RunDir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
			if after := descriptors(t); after > before {
				t.Errorf("%d descriptors, %d before", after, before)
			}
			var status unix.WaitStatus
			if pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil); err != unix.ECHILD {
				t.Errorf("a child is left: %d, %v", pid, err)
			}
		})
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

func TestOutboxDoesNotWait(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	o := newOutbox(&lines{w: w})
	long := strings.Repeat("x", 10000)
	for range 100 { // a pipe takes 64 KiB
		o.put(fromRecorder{Note: long}, "")
	}
	last := o.put(fromRecorder{Note: "last"}, "")
	if await(last, 10*time.Millisecond) {
		t.Error("all is said to be sent, and nobody has read")
	}
	o.close()
	in := newLines(struct {
		*os.File
	}{r})
	for i := range 101 {
		var m fromRecorder
		if err := in.receive(&m); err != nil || m.Note != long && i < 100 || m.Note != "last" && i == 100 {
			t.Fatalf("message %d: %q, %v", i, m.Note, err)
		}
	}
	if !await(o.done, time.Minute) || !await(last, time.Minute) {
		t.Error("it does not notice that all was sent")
	}
	if !await(o.put(fromRecorder{Note: "late"}, ""), time.Minute) {
		t.Error("after the end, something waits to be sent")
	}
	w.Close()
}

func TestGivenEnv(t *testing.T) {
	t.Setenv(heldVariable, "/a.so /b.so")
	t.Setenv(preloadVariable, "")
	os.Unsetenv(preloadVariable)
	env := strings.Join(givenEnv(), "\n")
	if !strings.Contains(env, "LD_PRELOAD=/a.so /b.so") || strings.Contains(env, heldVariable) {
		t.Errorf("environment %s", env)
	}
}
