package sampler

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
)

// maxStack bounds what is looked at of one stack: a larger mapping is a stack's that was merged with others.
const maxStack = 1 << 30

// StackReading is what was read of one stack.
type StackReading struct {
	Thread        uint32 // index in the recording
	Touched, Size uint64 // bytes
}

// stackPages reads how far down the stacks of a process's threads were ever touched. A page that was touched stays in
// memory, so what is read now and then is the high-water mark of all calls.
type stackPages struct {
	turns turns
	lows  map[Stack]uint64 // where each stack can end
	limit uint64           // of the main thread's
	buf   []byte
}

// read reads them if that is due.
func (g *stackPages) read(p *Process, now time.Time) {
	if !g.turns.due(p, now) {
		return
	}
	began, at := time.Now(), clock.Monotonic()
	if list := g.look(p); len(list) > 0 && p.sameImage() {
		p.Sink.Stacks(at, list)
	}
	g.turns.took(p, now, began)
}

func (g *stackPages) look(p *Process) (list []StackReading) {
	stacks := p.Layout.Stacks()
	if len(stacks) == 0 {
		return nil
	}
	m, err := openPageMap(p.dir)
	if err != nil {
		return nil // not ours to read
	}
	defer m.close()
	if g.buf == nil {
		g.buf = make([]byte, 64<<10)
		g.limit = stackLimit(p.short("/limits"))
	}
	alive := threadsOf(p.PID)
	stacks = slices.DeleteFunc(stacks, func(t Stack) bool { return !alive[t.TID] })
	g.bounds(p, stacks)
	for _, t := range stacks {
		low := g.lows[t]
		if low == 0 {
			continue
		}
		if lowest, ok := g.lowest(m, low, t.Top, uint64(p.pageSize)); ok {
			r := StackReading{Thread: t.Thread, Size: t.Top - low, Touched: t.Top - lowest}
			if int(t.TID) == p.PID {
				r.Size = g.limit
			}
			list = append(list, r)
		}
	}
	return list
}

// threadsOf are the ids of a process's threads.
func threadsOf(pid int) map[uint32]bool {
	list, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	alive := make(map[uint32]bool, len(list))
	for _, e := range list {
		if tid, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			alive[uint32(tid)] = true
		}
	}
	return alive
}

// bounds finds out where the stacks end. That of the main thread grows.
func (g *stackPages) bounds(p *Process, stacks []Stack) {
	known := g.lows
	g.lows = make(map[Stack]uint64, len(stacks))
	var asked []Stack
	for _, t := range stacks {
		if low, ok := known[t]; ok && int(t.TID) != p.PID {
			g.lows[t] = low
		} else {
			asked = append(asked, t)
		}
	}
	if len(asked) == 0 {
		return
	}
	slices.SortFunc(asked, func(a, b Stack) int { return cmp.Compare(a.Top, b.Top) })
	f, err := os.Open(p.dir + "/maps")
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for i := 0; i < len(asked) && lines.Scan(); {
		from, to, ok := mapRange(lines.Bytes())
		for ok && i < len(asked) && asked[i].Top-1 < to {
			if t := asked[i]; t.Top-1 >= from && t.Top-from <= maxStack {
				g.lows[t] = from
			}
			i++
		}
	}
}

// mapRange is the range of addresses of a line of /proc/PID/maps.
func mapRange(line []byte) (from, to uint64, ok bool) {
	low, rest, _ := bytes.Cut(line, []byte{'-'})
	high, _, _ := bytes.Cut(rest, []byte{' '})
	from, err := strconv.ParseUint(string(low), 16, 64)
	to, err2 := strconv.ParseUint(string(high), 16, 64)
	return from, to, err == nil && err2 == nil
}

// lowest finds the lowest page between two addresses that is in memory or swapped out.
func (g *stackPages) lowest(m *pageMap, low, top, size uint64) (uint64, bool) {
	found := uint64(0)
	from, to := low&^(size-1), (top+size-1)&^(size-1)
	if m.scan(from, to, isPresent|isSwapped, 0, func(start, _ uint64) bool {
		found = start
		return false
	}) {
		return found, found != 0
	}
	return g.readLowest(m.f, low, top, size)
}

// readLowest is lowest for kernels that only have a number for each page.
func (g *stackPages) readLowest(f *os.File, low, top, size uint64) (uint64, bool) {
	const presentOrSwapped = 3 << 62
	for at := low &^ (size - 1); at < top; {
		want := min(uint64(len(g.buf)), (top-at+size-1)/size*8)
		n, err := f.ReadAt(g.buf[:want], int64(at/size*8))
		if n &^= 7; n == 0 || err != nil && uint64(n) < want {
			return 0, false
		}
		for b := g.buf[:n]; len(b) > 0; b = b[8:] {
			if binary.LittleEndian.Uint64(b)&presentOrSwapped != 0 {
				return at, true
			}
			at += size
		}
	}
	return 0, false
}

// stackLimit finds the main thread's limit in /proc/PID/limits; 0: none.
func stackLimit(limits []byte) uint64 {
	const name = "Max stack size"
	i := bytes.Index(limits, []byte(name))
	if i < 0 {
		return 0
	}
	f := bytes.Fields(limits[i+len(name):])
	if len(f) == 0 {
		return 0
	}
	return uint64(max(0, number(f[0])))
}
