package record

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
	"golang.org/x/sys/unix"
)

// sampler reads how much memory a process has, as the kernel counts it.
type sampler struct {
	pid      int
	dir      string // the kernel's files of the process, or of a thread when its first one has ended
	slot     uint32
	random   uint64 // of the image, see life
	w        *worker
	started  time.Time
	next     time.Time
	nextAll  time.Time
	nextPSS  time.Time
	files    map[string]*os.File
	buf      []byte
	pageSize int64
	pages    pages
	stacks   stackPages
}

// Sampling begins at this interval and slows down as the run gets longer, so that a recording holds a few thousand samples.
const (
	sampleInterval = 10 * time.Millisecond
	sampleCount    = 2000
	maxInterval    = time.Second
	// allInterval is for what costs more to read and changes slowly: swap, and the system's memory.
	allInterval = 100 * time.Millisecond
	// pssDuty bounds the time for which the target's memory map is locked for the proportional set size.
	pssDuty     = 100
	pssInterval = 250 * time.Millisecond
)

func newSampler(l *life, slot uint32, w *worker) *sampler {
	return &sampler{
		pid: l.pid, dir: "/proc/" + strconv.Itoa(l.pid), slot: slot, random: l.random, w: w, started: time.Now(), nextPSS: time.Now().Add(pssInterval / 5), pageSize: int64(os.Getpagesize()), files: map[string]*os.File{},
		buf: make([]byte, 8192),
	}
}

// interval is the time between two samples of a process of this age.
func (s *sampler) interval(now time.Time) time.Duration {
	return min(max(sampleInterval, now.Sub(s.started)/sampleCount), maxInterval)
}

// due takes a sample if it is time, unless the process executes another image by now.
func (s *sampler) due(now time.Time) {
	if now.Before(s.next) {
		return
	}
	stretch := s.interval(now)
	s.next = now.Add(stretch - sampleInterval/2) // the timer's grid decides
	smp := event.Sample{
		RSS: -1, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1, SystemFree: -1, SystemCached: -1,
	}
	at := clock.Monotonic() // not later: the process may have ended by then
	if !s.statm(&smp) {
		return
	}
	s.stat(&smp)
	if !now.Before(s.nextAll) {
		s.nextAll = now.Add(max(allInterval, stretch))
		s.swap(&smp)
		s.system(&smp)
	}
	if !now.Before(s.nextPSS) {
		t := time.Now()
		s.pss(&smp)
		took := time.Since(t)
		s.nextPSS = t.Add(max(pssInterval, took*pssDuty, stretch))
	}
	s.pages.due(s, now)
	s.stacks.due(s, now)
	if s.sameImage() { // after all that was read: it does not come back
		s.w.queue.leave(item{kind: itemSample, slot: s.slot, sample: smp, n: at})
	}
}

// read returns what a file of the kernel's holds now, up to 8 KiB of it. The files stay open.
func (s *sampler) read(name string) []byte {
	f := s.files[name]
	if f == nil {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil
		}
		s.files[name] = f
	}
	n, _ := f.ReadAt(s.buf, 0)
	return s.buf[:n]
}

// sameImage says whether the process still runs the image that is sampled. This file does not stay open: it would go on
// telling of the image that it was opened for, while the others tell of the one that runs.
func (s *sampler) sameImage() bool {
	fd, err := unix.Open(s.dir+"/auxv", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	n, _ := unix.Read(fd, s.buf)
	_ = unix.Close(fd)
	random, ok := randomIn(s.buf[:max(n, 0)])
	return ok && random == s.random
}

func (s *sampler) proc(file string) []byte {
	return s.read(s.dir + "/" + file)
}

func (s *sampler) close() {
	for _, f := range s.files {
		_ = f.Close()
	}
	s.files = nil
}

func (s *sampler) statm(smp *event.Sample) bool {
	f := bytes.Fields(s.proc("statm"))
	if len(f) < 2 {
		return false
	}
	smp.Virtual, smp.RSS = number(f[0])*s.pageSize, number(f[1])*s.pageSize
	if smp.Virtual > 0 {
		return true
	}
	// A zombie has none; but other threads may go on.
	if dir := livingThread(s.pid); dir != "" {
		s.dir = dir
	}
	return false
}

func (s *sampler) stat(smp *event.Sample) {
	b := s.proc("stat")
	f := bytes.Fields(b[max(0, bytes.LastIndexByte(b, ')')):])
	if len(f) > 10 { // fields 10 and 12 of proc(5), which counts from 1 and has the name as the second
		smp.MinorFaults, smp.MajorFaults = number(f[8]), number(f[10])
	}
	if len(f) > 18 { // field 20
		smp.Threads = max(0, number(f[18]))
	}
}

func (s *sampler) swap(smp *event.Sample) {
	smp.Swap = field(s.proc("status"), "VmSwap:")
}

func (s *sampler) pss(smp *event.Sample) {
	smp.PSS = field(s.proc("smaps_rollup"), "Pss:")
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
