package record

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/procs"
	"golang.org/x/sys/unix"
)

// sampler reads how much memory a process has, as the kernel counts it.
type sampler struct {
	pid      int
	dir      string // the kernel's files of the process, or of a thread when its first one has ended
	slot     uint32
	random   uint64 // of the image, see procs.Life
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

	pause  time.Duration // between samples that show no change
	latest event.Sample  // and when that was taken
	at     uint64
	most   int64 // the largest resident set that was sampled, or that the kernel has seen
}

// Sampling begins at this interval and slows down as the run gets longer, so that a recording holds a few thousand
// samples. While nothing changes, it slows down to maxInterval; a peak in between is known from the kernel's high-water
// mark.
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

// unknownSample is one in which nothing is known.
var unknownSample = event.Sample{
	RSS: -1, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1, SystemFree: -1, SystemCached: -1,
}

func newSampler(l *procs.Life, slot uint32, w *worker) *sampler {
	return &sampler{
		pid: l.PID, dir: "/proc/" + strconv.Itoa(l.PID), slot: slot, random: l.Random, w: w, started: time.Now(), nextPSS: time.Now().Add(pssInterval / 5), pageSize: int64(os.Getpagesize()), files: map[string]*os.File{},
		buf: make([]byte, 8192),
	}
}

// interval is the time between two samples of a process of this age.
func (s *sampler) interval(now time.Time) time.Duration {
	return min(max(sampleInterval, now.Sub(s.started)/sampleCount), maxInterval)
}

// rouse has it sampled often again.
func (s *sampler) rouse(now time.Time) {
	if s.pause > sampleInterval {
		s.pause = 0
		if next := now.Add(s.interval(now) - sampleInterval/2); next.Before(s.next) {
			s.next = next
		}
	}
}

// due takes a sample if it is time, unless the process executes another image by now.
func (s *sampler) due(now time.Time) {
	if now.Before(s.next) {
		return
	}
	smp := unknownSample
	at := clock.Monotonic() // not later: the process may have ended by then
	ok := s.statm(&smp)
	if ok {
		s.stat(&smp)
	}
	s.pace(&smp)
	stretch := max(s.interval(now), s.pause)
	s.next = now.Add(stretch - sampleInterval/2) // the timer's grid decides
	if !ok {
		return
	}
	var peak *event.Sample
	if !now.Before(s.nextAll) {
		s.nextAll = now.Add(max(allInterval, stretch))
		peak = s.status(&smp)
		s.system(&smp)
	}
	if !now.Before(s.nextPSS) {
		t := time.Now()
		s.pss(&smp)
		took := time.Since(t)
		s.nextPSS = t.Add(max(pssInterval, took*pssDuty, stretch))
	}
	if s.pause < maxInterval { // else they were read since the latest change
		s.pages.due(s, now)
		s.stacks.due(s, now)
	}
	s.most = max(s.most, smp.RSS)
	before := s.at
	s.latest, s.at = smp, at
	if !s.sameImage() { // after all that was read: it does not come back
		return
	}
	if peak != nil {
		s.w.queue.leave(item{kind: itemSample, slot: s.slot, sample: *peak, n: before + (at-before)/2})
	}
	s.w.queue.leave(item{kind: itemSample, slot: s.slot, sample: smp, n: at})
}

// pace slows down while nothing changes.
func (s *sampler) pace(smp *event.Sample) {
	watched := s.w.run != nil && len(s.w.run.config.MarkWhen) > 0 // a mark is to be set when it happens
	if l := &s.latest; s.at == 0 || watched || smp.RSS != l.RSS || smp.Virtual != l.Virtual || smp.MinorFaults != l.MinorFaults {
		s.pause = 0
	} else {
		s.pause = min(max(2*s.pause, sampleInterval), maxInterval)
	}
}

// status reads what costs more. If the kernel has seen a larger resident set than any sample, it returns one that has
// it, and nothing else: when that was since the sample before, nobody knows.
func (s *sampler) status(smp *event.Sample) *event.Sample {
	b := s.proc("status")
	smp.Swap = field(b, "VmSwap:")
	peak := unknownSample
	peak.RSS = field(b, "VmHWM:")
	// What it has grown by since the sample is the next one's.
	now := event.Sample{}
	if s.at == 0 || peak.RSS <= max(s.most, smp.RSS) || !s.statm(&now) || peak.RSS <= now.RSS {
		return nil
	}
	s.most = peak.RSS
	return &peak
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
	random, ok := procs.RandomIn(s.buf[:max(n, 0)])
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
	if dir := procs.LivingThread(s.pid); dir != "" {
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
