package procs

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFamily follows forks, ids that others get, and forks that were not heard of.
func TestFamily(t *testing.T) {
	f := &Family{members: map[int]member{}, forks: -1}
	f.Add(os.Getpid())
	f.forked(os.Getpid(), 1<<30, time.Second)
	f.forked(1<<30, 1<<30+1, time.Second)
	if !f.Has(1<<30) || !f.Has(1<<30+1) {
		t.Error("what a member has forked is none")
	}
	f.forked(1, 1<<30, time.Second)
	if f.Has(1 << 30) {
		t.Error("an id is a member's although another process has it")
	}
	child, other := stranger(t), stranger(t)
	_, born, _ := parentOf(child)
	f.members = map[int]member{child: {born: born + 1, reported: true}, other: {born: born - 1000, reported: true},
		1: {born: 7}, 1<<30 + 1: {reported: true}}
	f.overrun()
	if m := f.members[child]; len(f.members) != 1 || m.reported || m.born != born {
		t.Errorf("%+v; %d was started at %d", f.members, child, born)
	}
}

// TestForks has the kernel report a process that is otherwise unknown: it was forked by one that has ended.
func TestForks(t *testing.T) {
	needRoot(t)
	f := NewFamily(os.Getpid())
	if f.forks < 0 {
		t.Skip("the kernel does not report forks")
	}
	stop := make(chan struct{})
	defer close(stop)
	out, err := exec.Command("/bin/sh", "-c", "(sleep 100 >/dev/null 2>&1 & echo $!)").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(pid, unix.SIGKILL)
	if parent, born, ok := parentOf(pid); !ok || parent == os.Getpid() || !f.Has(pid) {
		t.Errorf("process %d with parent %d: %+v", pid, parent, f.members)
	} else if m := f.members[pid]; !m.reported || max(born-m.born, m.born-born) > near {
		t.Errorf("it was started at %d, and the kernel has reported %+v", born, m)
	}
	if stranger := 1; f.Has(stranger) {
		t.Error("everybody is a member")
	}
	go f.Follow(stop)
}
