package sampler_test

import (
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/childtest"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/sampler"
)

// samples is a Sink that keeps samples.
type samples struct {
	mu   sync.Mutex
	list []event.Sample
}

func (s *samples) Sample(_ uint64, x event.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, x)
}

func (s *samples) Residency(uint64, []event.Residency) {}

func (s *samples) Stacks(uint64, []sampler.StackReading) {}

func (s *samples) Areas(uint64, []sampler.Area) {}

func (s *samples) Pages(uint64, event.PageReading) {}

func (s *samples) take() []event.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// TestSampleOfImage samples a process before and after it executes another program.
func TestSampleOfImage(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "echo; read x; exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	childtest.Ready(t, cmd, "")
	random, _ := procs.Random(cmd.Process.Pid)
	var got samples
	s := sampler.New()
	target := sampler.Target{PID: cmd.Process.Pid, Random: random, Layout: new(sampler.Layout), Sink: &got}
	p := s.Add(target)
	if list := got.take(); len(list) != 1 || list[0].RSS <= 0 || list[0].MinorFaults <= 0 {
		t.Fatalf("samples of the first image: %+v", list)
	}
	stop := make(chan struct{})
	defer close(stop)
	go s.Serve(stop)
	for end := time.Now().Add(10 * time.Second); len(got.take()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not sampled again")
		}
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if now, ok := procs.Random(cmd.Process.Pid); ok && now != random {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not execute sleep")
		}
	}
	var second samples
	target.Sink = &second
	q := s.Add(target)
	if list := second.take(); len(list) != 0 {
		t.Errorf("samples of the second image: %+v", list)
	}
	s.Remove(p)
	s.Remove(q)
}
