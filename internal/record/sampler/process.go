package sampler

import (
	"bytes"
	"os"
	"strconv"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/procfs"
	"github.com/heaptap/heaptap/internal/record/procs"
	"golang.org/x/sys/unix"
)

// Target is a process to sample.
type Target struct {
	PID    int
	Random uint64 // address of the image's random bytes, see procs.Life
	Eager  bool   // sample often although nothing changes: a mark is to be set when it happens
	Pages  bool   // read which pages of its memory are in memory, see heapPages
	Layout *Layout
	Sink   Sink
}

// Process is a process that is being sampled.
type Process struct {
	Target
	dir      string // the kernel's files of the process, or of a thread when its first one has ended
	started  time.Time
	next     time.Time
	nextAll  time.Time
	nextPSS  time.Time
	lastPSS  time.Time
	files    map[string]int // descriptors
	buf      []byte
	pageSize int64
	pages    pages
	stacks   stackPages
	areas    areas
	heap     heapPages

	stack  uint64        // where the image's stack begins, as the kernel says; 0: not known
	pause  time.Duration // between samples that show no change
	latest event.Sample
	at     uint64 // when that was taken
	most   int64  // the largest resident set that was sampled, or that the kernel has seen
}

// Sampling begins at minInterval and slows down as the run gets longer, so that a recording holds a few thousand
// samples. While nothing changes, it slows down to maxInterval; a peak in between is known from the kernel's high-water
// mark.
const (
	minInterval = 10 * time.Millisecond
	sampleCount = 2000
	maxInterval = time.Second
	// allInterval is for what costs more to read and changes slowly: swap, and the system's memory.
	allInterval = 100 * time.Millisecond
	// pssDuty bounds the time for which the target's memory map is locked for the proportional set size, and for what
	// else only the long list of mappings says.
	pssDuty     = 300
	pssInterval = 250 * time.Millisecond
	// stillPSS is for a process that does nothing: its set changes only with those of others that share its pages.
	stillPSS = 10 * time.Second
)

// Unknown is a sample in which nothing is known.
var Unknown = event.Sample{
	RSS: -1, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1, SystemFree: -1, SystemCached: -1,
}

func newProcess(t Target) *Process {
	now := time.Now()
	return &Process{
		Target: t, dir: "/proc/" + strconv.Itoa(t.PID), started: now, nextPSS: now.Add(pssInterval / 5),
		pageSize: int64(os.Getpagesize()), files: map[string]int{}, buf: make([]byte, 8192),
	}
}

// interval is the time between two samples of a process of this age.
func (p *Process) interval(now time.Time) time.Duration {
	return min(max(minInterval, now.Sub(p.started)/sampleCount), maxInterval)
}

// rouse has the process sampled often again.
func (p *Process) rouse(now time.Time) {
	if p.pause > minInterval {
		p.pause = 0
		if next := now.Add(p.interval(now)); next.Before(p.next) {
			p.next = next
		}
	}
}

// read takes a sample if it is due, or soon, so that one timer does for many processes; unless the process executes
// another image by now.
func (p *Process) read(now time.Time) {
	if now.Before(p.next.Add(-minInterval / 2)) {
		return
	}
	smp := Unknown
	at := clock.Monotonic() // not later: the process may have ended by then
	ok := p.statm(&smp)
	stack := uint64(0)
	if ok {
		stack = p.stat(&smp)
	}
	same := stack != 0 && stack == p.stack // the image's, when the latest of these was read
	p.pace(&smp)
	interval := max(p.interval(now), p.pause)
	p.next = now.Add(interval)
	if !ok {
		return
	}
	var peak *event.Sample
	if !now.Before(p.nextAll) {
		p.nextAll = now.Add(max(allInterval, interval))
		peak = p.status(&smp)
		p.system(&smp)
		same = false
	}
	p.areas.read(p, now, &smp)
	still := p.pause == maxInterval && now.Sub(p.lastPSS) < stillPSS
	if smp.PSS < 0 && !now.Before(p.nextPSS) && !still {
		began := time.Now()
		p.lastPSS = began
		took := ProcessorTime(func() { _, smp.PSS = p.areas.long(p) })
		same = false
		p.nextPSS = began.Add(max(p.pssPause(took), interval))
	}
	p.pages.read(p, now)
	p.stacks.read(p, now)
	p.most = max(p.most, smp.RSS)
	before := p.at
	p.latest, p.at = smp, at
	if !same && !p.sameImage() { // after all that was read: it does not come back
		return
	}
	p.stack = stack // of what was the image before, and still was after
	if peak != nil {
		p.Sink.Sample(before+(at-before)/2, *peak)
	}
	p.Sink.Sample(at, smp)
}

// pace slows down while nothing changes.
func (p *Process) pace(smp *event.Sample) {
	l := &p.latest
	if p.at == 0 || p.Eager || smp.RSS != l.RSS || smp.Virtual != l.Virtual || smp.MinorFaults != l.MinorFaults {
		p.pause = 0
		p.pages.turns.changed, p.stacks.turns.changed, p.areas.changed, p.heap.changed = true, true, true, true
	} else {
		p.pause = min(max(2*p.pause, minInterval), maxInterval)
	}
}

// status reads what costs more. If the kernel has seen a larger resident set than any sample, it returns one that has
// it, and nothing else: when that was since the last sample is unknown.
func (p *Process) status(smp *event.Sample) *event.Sample {
	b := p.short("/status")
	smp.Swap = field(b, "VmSwap:")
	peak := Unknown
	peak.RSS = field(b, "VmHWM:")
	// What it has grown by since the sample is the next one'p.
	now := event.Sample{}
	if p.at == 0 || peak.RSS <= max(p.most, smp.RSS) || !p.statm(&now) || peak.RSS <= now.RSS {
		return nil
	}
	p.most = peak.RSS
	return &peak
}

// short returns what a file of the kernel's about the process holds now, see file.
func (p *Process) short(name string) []byte { return p.file(p.dir + name) }

// file returns what a file holds now, up to 8 KiB of it, that the kernel writes without waiting for anything: Go's
// scheduler need not know of the call, or else it would watch over each one. The files stay open.
func (p *Process) file(path string) []byte {
	fd, ok := p.files[path]
	if !ok {
		var err error
		if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil
		}
		p.files[path] = fd
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p.buf))),
		uintptr(len(p.buf)), 0, 0, 0)
	if errno != 0 {
		return nil
	}
	return p.buf[:n]
}

// nextField cuts off a word of a line in which single spaces divide words.
func nextField(b []byte) (word, rest []byte) {
	if i := bytes.IndexAny(b, " \n"); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// sameImage says whether the process still runs the image that is sampled. This file does not stay open: it would stay
// that of the image for which it was opened, while the other files are those of the image that runs.
func (p *Process) sameImage() bool {
	random, ok := procs.RandomIn(procfs.ReadNow(p.dir+"/auxv", p.buf))
	return ok && random == p.Random
}

func (p *Process) close() {
	for _, fd := range p.files {
		_ = unix.Close(fd)
	}
	p.files = nil
}

func (p *Process) statm(smp *event.Sample) bool {
	virtual, rest := nextField(p.short("/statm"))
	rss, _ := nextField(rest)
	if len(rss) == 0 {
		return false
	}
	smp.Virtual, smp.RSS = number(virtual)*p.pageSize, number(rss)*p.pageSize
	if smp.Virtual > 0 {
		return true
	}
	// A zombie has none; but other threads may still run.
	if dir := procs.LivingThread(p.PID); dir != "" {
		p.dir = dir
	}
	return false
}

// stat returns where the image's stack begins, which differs between images; 0 if that is not known.
func (p *Process) stat(smp *event.Sample) (stack uint64) {
	b := p.short("/stat")
	b = b[max(0, bytes.LastIndexByte(b, ')')):] // before it is the name, with any characters
	for i := 2; len(b) > 0 && i <= 28; i++ {    // as proc(5) counts
		var word []byte
		switch word, b = nextField(b); i {
		case 10:
			smp.MinorFaults = number(word)
		case 12:
			smp.MajorFaults = number(word)
		case 20:
			smp.Threads = max(0, number(word))
		case 28:
			stack = uint64(max(0, number(word)))
		}
	}
	return stack
}

// processorTime returns how much of the processors the process has used; 0: not known.
func (p *Process) processorTime() time.Duration {
	// The clock of a process that is not one's own, see clock_getcpuclockid(3): ticks, as /proc has them, are too long
	// to tell whether it has done anything.
	const scheduled = 2
	var t unix.Timespec
	if unix.ClockGettime(int32(^p.PID)<<3|scheduled, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// pssPause is how long the proportional set size is not read again after a reading that took so long.
func (p *Process) pssPause(took time.Duration) time.Duration {
	return max(pssInterval, took*pssDuty, time.Since(p.started)/areasShare)
}

func (p *Process) system(smp *event.Sample) {
	b := p.file("/proc/meminfo")
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
