package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"time"
)

// maxStack bounds what is looked at of one stack: more is no stack, but a mapping that has grown together with others.
const maxStack = 1 << 30

// stackPages reads how far down the stacks of a process's threads were ever touched. A page that was, stays: so what is read now and
// then is the high water, of all calls.
type stackPages struct {
	turns turns
	lows  map[ownStack]uint64 // where each stack ends at the most
	limit uint64              // of the main thread's
	buf   []byte
}

// due reads them if it is time.
func (g *stackPages) due(s *sampler, now time.Time) {
	g.turns.due(s, now, func() (item, bool) {
		list := g.look(s)
		return item{kind: itemStacks, stacks: list}, len(list) > 0
	})
}

func (g *stackPages) look(s *sampler) (list []stackReading) {
	stacks := s.w.stackLists.of(s.slot)
	if len(stacks) == 0 {
		return nil
	}
	f, err := os.Open(s.dir + "/pagemap")
	if err != nil {
		return nil // not ours to read
	}
	defer f.Close()
	if g.buf == nil {
		g.buf = make([]byte, 64<<10)
		g.limit = stackLimit(s.proc("limits"))
	}
	alive := threadsOf(s.pid)
	stacks = slices.DeleteFunc(stacks, func(t ownStack) bool { return !alive[t.tid] })
	g.bounds(s, stacks)
	for _, t := range stacks {
		low := g.lows[t]
		if low == 0 {
			continue
		}
		if lowest, ok := g.lowest(f, low, t.top, uint64(s.pageSize)); ok {
			r := stackReading{thread: t.thread, size: t.top - low, touched: t.top - lowest}
			if int(t.tid) == s.pid {
				r.size = g.limit
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
func (g *stackPages) bounds(s *sampler, stacks []ownStack) {
	known := g.lows
	g.lows = make(map[ownStack]uint64, len(stacks))
	var asked []ownStack
	for _, t := range stacks {
		if low, ok := known[t]; ok && int(t.tid) != s.pid {
			g.lows[t] = low
		} else {
			asked = append(asked, t)
		}
	}
	if len(asked) == 0 {
		return
	}
	slices.SortFunc(asked, func(a, b ownStack) int { return cmp.Compare(a.top, b.top) })
	f, err := os.Open(s.dir + "/maps")
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for i := 0; i < len(asked) && lines.Scan(); {
		from, to, ok := mapRange(lines.Bytes())
		for ok && i < len(asked) && asked[i].top-1 < to {
			if t := asked[i]; t.top-1 >= from && t.top-from <= maxStack {
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
func (g *stackPages) lowest(f *os.File, low, top, size uint64) (uint64, bool) {
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
