package sampler

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/event"
)

// Area is a mapping of a process, as the kernel lists them.
type Area struct {
	Start, End uint64
	Resident   uint64 // bytes
	Writable   bool
	NoAccess   bool   // it can neither be read, written nor executed: a guard, or address space that is only reserved
	Shared     bool   // what is written is seen by others
	NoReserve  bool   // mapped with MAP_NORESERVE
	Path       string // "[heap]", "[stack]" and the like for some that are not of a file; "" for others
	// Pages are the resident pages of a private writable area without a file. nil: not known. Of one that is wholly
	// resident, they are known only if pages are read, see Target.
	Pages []event.AddrRange
}

// Size returns the area's length in bytes.
func (a *Area) Size() uint64 { return a.End - a.Start }

// The whole list of mappings is read while the resident set grows and when it has stopped growing, so that one reading
// is near the peak, and now and then while the process does anything. The kernel walks all page tables for it and locks
// the list meanwhile: reading may take a hundredth of a processor, while the resident set grows a tenth. Where
// pages are read, too, it is a hundredth always. Where the kernel can scan pages, nearly all readings are of the short
// list and by a scan, which takes a tenth of the time.
const (
	areasDuty     = 100
	areasInterval = 250 * time.Millisecond
	areasShare    = 100 // readings for each doubling of the process's age: a long run does not have more of them
	growthDuty    = 10
	leastWork     = time.Millisecond // of a processor, since the latest reading, in which what is live may have changed
	growthShare   = 16               // the resident set has grown if it is larger than ever read by such a part of it,
	topShare      = 64               // or by such a part of it, and grows no further
	maxAreas      = 1 << 17
)

// areas reads the list of a process's mappings.
type areas struct {
	grown   time.Time     // when the next reading may be, if the resident set has grown
	next    time.Time     // when the next reading may be otherwise
	most    int64         // the largest resident set when a reading began
	changed bool          // the process's memory has changed since the latest reading
	worked  time.Duration // what the process had used of the processors when that began
	known   []Area        // the latest long reading, of all that the kernel says of mappings
	took    time.Duration // what that took of a processor
	topped  time.Time     // when the next reading may be, if the resident set has grown by little
}

// read reads them if that is due, and the proportional set size with them. The same reading says which pages are in
// memory, if that is due.
func (g *areas) read(p *Process, now time.Time, smp *event.Sample) {
	due, pages := g.due(p, now, smp), p.Pages && p.heap.due(p, now)
	if !due && !pages {
		return
	}
	began, at := time.Now(), clock.Monotonic()
	worked := p.processorTime()
	var list []Area
	pss, resident := int64(-1), int64(0)
	took := ProcessorTime(func() {
		if !pages && now.Before(p.nextPSS) {
			list, resident = g.scan(p, smp.RSS)
		}
		if list == nil {
			list, pss = g.long(p)
			lookAt(p, list)
			resident = residentOf(list)
		}
	})
	same := list != nil && p.sameImage()
	if pages {
		p.heap.took(p, now, began, took, worked)
		if same {
			p.Sink.Pages(at, pageReading(list, took, uint64(p.pageSize)))
		}
	}
	if !due {
		return
	}
	g.worked = worked
	g.most = max(g.most, smp.RSS) // not what is added while the list is read: that lies in blocks that are not known at
	if same {
		smp.PSS = pss
		smp.RSS = max(smp.RSS, resident) // which was read later
		p.Sink.Areas(at, list)
	}
	g.changed = false
	duty := time.Duration(growthDuty)
	if p.Pages {
		duty = areasDuty
	}
	g.grown = began.Add(took * duty)
	if pss >= 0 {
		g.took = took
		p.nextPSS = began.Add(p.pssPause(took))
	}
	// A scan is cheap, but each reading is recorded.
	g.topped = began.Add(g.took * duty)
	g.next = began.Add(max(areasInterval, g.took*areasDuty, began.Sub(p.started)/areasShare))
}

// due says whether to read what the resident set consists of.
func (g *areas) due(p *Process, now time.Time, smp *event.Sample) bool {
	topped := smp.RSS > g.most+g.most/topShare && smp.RSS <= p.latest.RSS && !now.Before(g.topped)
	grown := topped || smp.RSS > g.most+g.most/growthShare
	grown = grown && !now.Before(g.grown)
	if g.next.IsZero() {
		g.next, g.grown = p.started.Add(areasInterval), p.started.Add(minInterval/2)
		return false
	}
	return grown || !now.Before(g.next) && (g.changed || p.processorTime()-g.worked >= leastWork)
}

// residentOf returns how much of the areas is in memory.
func residentOf(list []Area) (sum int64) {
	for i := range list {
		sum += int64(list[i].Resident)
	}
	return sum
}

// ProcessorTime returns how much of a processor's time a function uses: on a busy machine much less than what passes.
func ProcessorTime(do func()) time.Duration {
	runtime.LockOSThread() // of which the time is measured
	defer runtime.UnlockOSThread()
	used := func() int64 {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		return t.Nano()
	}
	before := used()
	do()
	return time.Duration(used() - before)
}

// long reads a process's mappings and the proportional set size; nil if they cannot be read, or are too many. Which
// pages are in memory is not read.
func (g *areas) long(p *Process) (list []Area, pss int64) {
	list, pss = readAreas(p)
	g.known = slices.Clone(list)
	return list, pss
}

func readAreas(p *Process) (list []Area, pss int64) {
	f, err := os.Open(p.dir + "/smaps")
	if err != nil {
		return nil, -1
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			break // its end; or a line that is too long, which the kernel does not write
		}
		switch a, ok := areaOf(line); {
		case ok && len(list) == maxAreas:
			return nil, -1
		case ok:
			list = append(list, a)
		case len(list) == 0:
		case bytes.HasPrefix(line, []byte("Rss:")):
			list[len(list)-1].Resident = uint64(max(0, field(line, "Rss:")))
		case bytes.HasPrefix(line, []byte("Pss:")):
			pss += max(0, field(line, "Pss:"))
		case bytes.HasPrefix(line, []byte("VmFlags:")):
			list[len(list)-1].NoReserve = bytes.Contains(line, []byte(" nr "))
		}
	}
	return list, pss
}

// areaOf reads the line that begins a mapping: addresses, permissions, offset, device, inode and perhaps a path.
func areaOf(line []byte) (a Area, ok bool) {
	if len(line) == 0 || line[0] > 'f' || line[0] >= 'A' && line[0] <= 'Z' {
		return a, false // nearly all lines
	}
	if a.Start, a.End, ok = mapRange(line); !ok || a.End <= a.Start {
		return a, false
	}
	rest := bytes.TrimSuffix(line, []byte("\n"))
	for i := range 5 {
		word, more, found := bytes.Cut(bytes.TrimLeft(rest, " "), []byte{' '})
		if i == 1 && len(word) == 4 {
			a.Writable, a.NoAccess, a.Shared = word[1] == 'w', string(word[:3]) == "---", word[3] == 's'
		}
		if rest = more; !found {
			return a, true
		}
	}
	a.Path = string(bytes.TrimLeft(rest, " "))
	return a, true
}
