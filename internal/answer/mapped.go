package answer

import (
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/tally"
)

// Maps are the mapping changes that the program has made itself.
type Maps struct {
	Mmap   MapCalls `json:"mmap"`
	Munmap MapCalls `json:"munmap"`
	Mremap struct {
		MapCalls
		OldBytes uint64 `json:"old_bytes"`
	} `json:"mremap"`
	Brk struct {
		MapCalls
		ReturnedBytes uint64 `json:"returned_bytes"`
	} `json:"brk"`
}

// MapCalls are the calls of one function that changes mappings.
type MapCalls struct {
	Calls  uint64 `json:"calls"`
	Failed uint64 `json:"failed"`
	Bytes  uint64 `json:"bytes"`
}

func newMaps(m *tally.Maps) *Maps {
	calls := func(c tally.Calls) MapCalls { return MapCalls{c.Calls, c.Failed, c.Bytes} }
	j := &Maps{Mmap: calls(m.Mmap), Munmap: calls(m.Munmap)}
	j.Mremap.MapCalls, j.Mremap.OldBytes = calls(m.Mremap), m.RemappedBytes
	j.Brk.MapCalls, j.Brk.ReturnedBytes = calls(m.Brk), m.BrkReturned
	return j
}

// Mapped is the memory that the program mapped itself.
type Mapped struct {
	PeakBytes   uint64        `json:"peak_bytes"`
	PeakTimeNS  int64         `json:"peak_time_ns"`
	LeakedBytes uint64        `json:"leaked_bytes"`
	Stacks      []MappedStack `json:"stacks"`
}

// MappedStack is a call stack that has mapped memory.
type MappedStack struct {
	Stack           uint32       `json:"stack"`
	Calls           uint64       `json:"calls"`
	Bytes           uint64       `json:"bytes"`
	OwnPeakBytes    uint64       `json:"own_peak_bytes"`
	LiveAtPeakBytes uint64       `json:"live_at_peak_bytes"`
	LeakedBytes     uint64       `json:"leaked_bytes"`
	ResidentBytes   *uint64      `json:"resident_bytes"` // in the largest resident set that was read; null: never read
	Frames          FrameNumbers `json:"frames"`
}

func newMapped(p *profile.Profile, t *frameTable) *Mapped {
	m := p.Mapped
	if m == nil {
		return nil
	}
	j := &Mapped{m.PeakBytes, m.PeakTime, m.LiveBytes, []MappedStack{}}
	set := p.LargestResident()
	resident := set.OfStacks()
	for _, s := range profile.MappedSites(m) {
		row := MappedStack{Stack: s.Stack, Calls: s.Calls, Bytes: s.Bytes, OwnPeakBytes: s.OwnPeak,
			LiveAtPeakBytes: s.LiveAtPeak, LeakedBytes: s.LiveBytes(), Frames: t.of(s.Stack)}
		if set != nil {
			bytes := resident[s.Stack]
			row.ResidentBytes = &bytes
		}
		j.Stacks = append(j.Stacks, row)
	}
	return j
}
