package sampler

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// What of the modules' writable segments is in memory is read from the kernel's page map: now and then, for a hundredth
// of the time at most. What was read last goes into the recording.
const (
	residencyDuty     = 100
	residencyInterval = 250 * time.Millisecond
	residencyFirst    = 50 * time.Millisecond
	// maxLooked bounds what is looked at of one process: larger modules are left out. 8 bytes are read for each page.
	maxLooked = 64 << 30
	// maxRuns bounds the runs of resident pages of one process.
	maxRuns = 1 << 18
)

// pages reads which pages of a process's modules are in memory.
type pages struct {
	turns    turns
	segments map[uint32][]event.AddrRange // by module: its writable segments, in whole pages
}

// read reads them if that is due.
func (g *pages) read(p *Process, now time.Time) {
	if !g.turns.due(p, now) {
		return
	}
	began, at := time.Now(), clock.Monotonic()
	list := g.look(p.dir, p.Layout.Modules(), uint64(p.pageSize))
	if len(list) > 0 && p.sameImage() {
		p.Sink.Residency(at, list)
	}
	g.turns.took(p, now, began)
}

// turns decides when something is read of a process's pages.
type turns struct {
	next    time.Time
	changed bool // the process's memory has changed since the latest turn
}

// due says whether to read now. An idle process is read once after its latest change, however long that had to wait.
func (t *turns) due(p *Process, now time.Time) bool {
	if t.next.IsZero() {
		t.next = p.started.Add(residencyFirst)
	}
	return !now.Before(t.next) && (t.changed || p.pause < maxInterval)
}

// took sets the next turn, after one that began at a moment.
func (t *turns) took(p *Process, now, began time.Time) {
	t.changed = false
	t.next = began.Add(max(residencyInterval, time.Since(began)*residencyDuty, p.interval(now)))
}

// look reads what is resident of the modules that are loaded.
func (g *pages) look(dir string, modules []event.Module, size uint64) []event.Residency {
	if len(modules) == 0 {
		return nil
	}
	in, err := openPageMap(dir)
	if err != nil {
		return nil // not ours to read
	}
	defer in.close()
	var list []event.Residency
	room, runs := uint64(maxLooked), maxRuns
	for i := range modules {
		m := &modules[i]
		if m.Unload >= 0 || strings.HasPrefix(m.Path, "[") {
			continue
		}
		r := event.Residency{Module: m.ID, PageSize: size, Looked: g.of(m, size)}
		length := uint64(0)
		for _, a := range r.Looked {
			length += a.End - a.Start
		}
		if length == 0 || length > room {
			continue
		}
		room -= length
		if resident(in, &r, runs) {
			runs -= len(r.Resident)
			list = append(list, r)
		}
	}
	return list
}

// of returns the pages of a module's writable segments; none if its file is not the one that was loaded.
func (g *pages) of(m *event.Module, size uint64) []event.AddrRange {
	if list, ok := g.segments[m.ID]; ok {
		return list
	}
	if g.segments == nil {
		g.segments = map[uint32][]event.AddrRange{}
	}
	var list []event.AddrRange
	f, err := elfx.Open(m.Path)
	if err == nil && (len(m.BuildID) == 0 || bytes.Equal(f.BuildID(), m.BuildID)) {
		for _, s := range f.Writable() {
			a := event.AddrRange{Start: (s.Start + m.Bias) &^ (size - 1)}
			a.End = (s.End + m.Bias + size - 1) &^ (size - 1)
			if n := len(list); n > 0 && a.Start < list[n-1].End {
				list[n-1].End = max(list[n-1].End, a.End) // they share a page
			} else if a.Start < a.End {
				list = append(list, a)
			}
		}
	}
	if err == nil {
		_ = f.Close()
	}
	g.segments[m.ID] = list
	return list
}

// resident fills in which pages are in memory. It is false if that is not known, or only with more runs than there is
// room for.
func resident(m *pageMap, r *event.Residency, runs int) bool {
	ok := true
	for _, a := range r.Looked {
		if r.Resident, ok = present(r.Resident, m, a, r.PageSize, runs); !ok {
			return false
		}
	}
	return true
}

// present adds the runs of pages between two addresses that are in memory, as a process's page map says. It is false
// if that cannot be read, or if the list would have more runs than there is room for.
func present(list []event.AddrRange, m *pageMap, a event.AddrRange, size uint64, room int) ([]event.AddrRange, bool) {
	var found []event.AddrRange
	fits := true
	if !m.scan(a.Start, a.End, isPresent, 0, func(start, end uint64) bool {
		found, fits = withRun(found, start, end, room-len(list))
		return fits
	}) {
		return readPresent(list, m.f, a, size, room)
	}
	if n := len(list); n > 0 && len(found) > 0 && list[n-1].End == found[0].Start {
		list[n-1].End, found = found[0].End, found[1:]
	}
	return append(list, found...), fits
}

// withRun adds a run of pages. It is false if there is no room.
func withRun(list []event.AddrRange, start, end uint64, room int) ([]event.AddrRange, bool) {
	if k := len(list); k > 0 && list[k-1].End == start {
		list[k-1].End = end
		return list, true
	}
	list = append(list, event.AddrRange{Start: start, End: end})
	return list, len(list) <= room
}

// readPresent is present for kernels that only have a number for each page.
func readPresent(list []event.AddrRange, f *os.File, a event.AddrRange, size uint64, room int) ([]event.AddrRange,
	bool) {
	const inMemory = 1 << 63
	buf := make([]byte, min(64<<10, (a.End-a.Start)/size*8))
	for at := a.Start; at < a.End; {
		want := min(uint64(len(buf)), (a.End-at)/size*8)
		n, err := f.ReadAt(buf[:want], int64(at/size*8))
		if n &^= 7; n == 0 || err != nil && uint64(n) < want {
			return list, false // it has ended
		}
		for b := buf[:n]; len(b) > 0; b = b[8:] {
			if binary.LittleEndian.Uint64(b)&inMemory != 0 {
				fits := true
				if list, fits = withRun(list, at, at+size, room); !fits {
					return list, false
				}
			}
			at += size
		}
	}
	return list, true
}
