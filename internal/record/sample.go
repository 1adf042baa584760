package record

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
)

// sampler reads how much memory a process has, as the kernel counts it.
type sampler struct {
	pid      int
	slot     uint32
	w        *worker
	started  time.Time
	next     time.Time
	nextPSS  time.Time
	buf      []byte
	pageSize int64
}

// Sampling begins at this interval and slows down as the run gets longer, so that a recording holds a few thousand samples.
const (
	sampleInterval = 10 * time.Millisecond
	sampleCount    = 2000
	// pssDuty bounds the time for which the target's memory map is locked for the proportional set size.
	pssDuty     = 100
	pssInterval = 250 * time.Millisecond
)

func newSampler(pid int, slot uint32, w *worker) *sampler {
	return &sampler{pid: pid, slot: slot, w: w, started: time.Now(), pageSize: int64(os.Getpagesize())}
}

// due takes a sample if it is time. It returns when the next one is.
func (s *sampler) due(now time.Time) time.Time {
	if now.Before(s.next) {
		return s.next
	}
	s.next = now.Add(max(sampleInterval, now.Sub(s.started)/sampleCount))
	smp := event.Sample{
		RSS: -1, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1, SystemFree: -1, SystemCached: -1,
	}
	if !s.statm(&smp) {
		return s.next
	}
	s.stat(&smp)
	s.swap(&smp)
	s.system(&smp)
	if !now.Before(s.nextPSS) {
		t := time.Now()
		s.pss(&smp)
		took := time.Since(t)
		s.nextPSS = t.Add(max(pssInterval, took*pssDuty, now.Sub(s.started)/sampleCount))
	}
	s.w.queue.push(item{kind: itemSample, slot: s.slot, sample: smp, n: clock.Monotonic()})
	return s.next
}

func (s *sampler) read(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if s.buf == nil {
		s.buf = make([]byte, 8192)
	}
	n, _ := f.Read(s.buf)
	return s.buf[:n]
}

func (s *sampler) statm(smp *event.Sample) bool {
	f := bytes.Fields(s.read(fmt.Sprintf("/proc/%d/statm", s.pid)))
	if len(f) < 2 {
		return false
	}
	smp.Virtual, smp.RSS = number(f[0])*s.pageSize, number(f[1])*s.pageSize
	return smp.Virtual > 0 // a zombie has none
}

func (s *sampler) stat(smp *event.Sample) {
	b := s.read(fmt.Sprintf("/proc/%d/stat", s.pid))
	f := bytes.Fields(b[max(0, bytes.LastIndexByte(b, ')')):])
	if len(f) > 10 { // fields 10 and 12 of proc(5), which counts from 1 and has the name as the second
		smp.MinorFaults, smp.MajorFaults = number(f[8]), number(f[10])
	}
}

func (s *sampler) swap(smp *event.Sample) {
	smp.Swap = field(s.read(fmt.Sprintf("/proc/%d/status", s.pid)), "VmSwap:")
}

func (s *sampler) pss(smp *event.Sample) {
	smp.PSS = field(s.read(fmt.Sprintf("/proc/%d/smaps_rollup", s.pid)), "Pss:")
}

func (s *sampler) system(smp *event.Sample) {
	b := s.read("/proc/meminfo")
	smp.SystemFree, smp.SystemCached = field(b, "MemAvailable:"), field(b, "\nCached:")
}

// field returns the number of KiB behind a name, in bytes; -1 if it is not there.
func field(b []byte, name string) int64 {
	i := bytes.Index(b, []byte(name))
	if i < 0 {
		return -1
	}
	f := bytes.Fields(b[i+len(name) : min(len(b), i+len(name)+40)])
	if len(f) == 0 {
		return -1
	}
	if n := number(f[0]); n >= 0 {
		return n << 10
	}
	return -1
}

func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(b), 10, 62)
	if err != nil {
		return -1
	}
	return n
}
