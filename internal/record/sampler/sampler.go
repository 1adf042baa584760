package sampler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/sleep"
)

// Sampler reads the memory of processes, each when it is due. Its methods may be called from any goroutine.
type Sampler struct {
	nap    atomic.Pointer[sleep.Sleeper] // Serve's; nil until it begins
	roused atomic.Bool                   // see Rouse
	paused atomic.Bool                   // Serve sleeps for long

	mu     sync.Mutex
	list   map[*Process]bool
	ending []*Process
}

// Sink takes what was read of one process. The times are of CLOCK_MONOTONIC.
type Sink interface {
	Sample(at uint64, s event.Sample)
	Residency(at uint64, list []event.Residency)
	Stacks(at uint64, list []StackReading)
	Areas(at uint64, list []Area)
	Pages(at uint64, r event.PageReading)
}

// New returns a sampler of no processes.
func New() *Sampler {
	return &Sampler{list: map[*Process]bool{}}
}

// Add begins to sample a process, and takes its first sample: many processes do not live until the next one is due.
func (s *Sampler) Add(t Target) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := newProcess(t)
	p.read(time.Now())
	s.list[p] = true
	s.paused.Store(true) // the timer does not know about it
	s.Rouse()
	return p
}

// Remove ends what Add has begun; p may be nil.
func (s *Sampler) Remove(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[p] {
		s.ending = append(s.ending, p)
		delete(s.list, p)
	}
}

// Rouse has memory sampled often again: something is going on.
func (s *Sampler) Rouse() {
	if s.paused.CompareAndSwap(true, false) {
		s.roused.Store(true)
		if nap := s.nap.Load(); nap != nil {
			nap.Wake()
		}
	}
}

// Serve samples until stop is closed.
func (s *Sampler) Serve(stop <-chan struct{}) {
	nap := sleep.New()
	defer nap.Close()
	s.nap.Store(nap)
	var over atomic.Bool
	go func() {
		<-stop
		over.Store(true)
		nap.Wake()
	}()
	for wait := minInterval; ; {
		nap.For(wait)
		if over.Load() {
			s.closeAll()
			return
		}
		roused := s.roused.Swap(false)
		now := time.Now()
		wait = maxInterval
		for _, p := range s.processes() {
			if roused {
				p.rouse(now)
			}
			p.read(now)
			wait = min(wait, max(p.next.Sub(now), minInterval/2))
		}
		s.paused.Store(wait > 2*minInterval)
	}
}

// closeAll ends what Add has begun.
func (s *Sampler) closeAll() {
	s.mu.Lock()
	for p := range s.list {
		s.ending = append(s.ending, p)
	}
	clear(s.list)
	s.mu.Unlock()
	s.processes()
}

// processes are those that are sampled. Those that were removed are closed here, where nothing reads them.
func (s *Sampler) processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Process, 0, len(s.list))
	for p := range s.list {
		list = append(list, p)
	}
	for _, p := range s.ending {
		p.close()
	}
	s.ending = nil
	return list
}
