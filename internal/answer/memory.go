package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Memory is what the resident set consisted of at one moment.
type Memory struct {
	FormatVersion int       `json:"format_version"`
	Recording     Recording `json:"recording"`
	Resident
	Peak   *ResidentPeak `json:"peak"` // null: not known
	Frames []Frame       `json:"frames"`
}

// Resident is what a resident set consists of. The parts add up to it; the mappings and the files are parts of theirs.
type Resident struct {
	TimeNS   *int64           `json:"time_ns"` // null: none was read
	Bytes    uint64           `json:"resident_bytes"`
	Parts    []ResidentPart   `json:"parts"`
	Mappings []MemoryMapping  `json:"mappings"`
	Files    []ResidentOfFile `json:"files"`
}

// ResidentPart is a part of the resident set.
type ResidentPart struct {
	Kind  string `json:"kind"`
	Bytes uint64 `json:"resident_bytes"`
	Size  uint64 `json:"size_bytes"`
}

// MemoryMapping is what a call stack, or all those of a language's heap, have mapped.
type MemoryMapping struct {
	Heap   string       `json:"heap,omitempty"`
	Hint   string       `json:"hint,omitempty"`
	Stack  uint32       `json:"stack"`
	Bytes  uint64       `json:"resident_bytes"`
	Size   uint64       `json:"size_bytes"`
	Frames FrameNumbers `json:"frames"`
}

// ResidentOfFile is what is in memory of a file.
type ResidentOfFile struct {
	File  string `json:"file"` // "": several
	Bytes uint64 `json:"resident_bytes"`
	Size  uint64 `json:"size_bytes"`
}

// ResidentPeak is the largest resident set.
type ResidentPeak struct {
	Bytes  int64 `json:"resident_bytes"`
	TimeNS int64 `json:"time_ns"`
}

// ReportResident is what the largest resident set that was read consisted of. Its mappings are in Mapped.
type ReportResident struct {
	TimeNS int64          `json:"time_ns"`
	Bytes  uint64         `json:"resident_bytes"`
	Parts  []ResidentPart `json:"parts"`
	Peak   *ResidentPeak  `json:"peak"`
}

func newReportResident(p *profile.Profile) *ReportResident {
	s := p.LargestResident()
	if s == nil {
		return nil
	}
	return &ReportResident{s.Time, s.Bytes, newResidentParts(s), newResidentPeak(p)}
}

// NewMemory makes the answer. s is nil if no resident set was read.
func NewMemory(p *profile.Profile, s *profile.ResidentSet) *Memory {
	var mappings []profile.Mapping
	if s != nil {
		mappings = p.Mappings(s)
	}
	var stacks []uint32
	for _, m := range mappings {
		stacks = append(stacks, m.Stack)
	}
	t := newFrameTable(p, stacks)
	return &Memory{Version, NewRecording(p), *newResidentSet(s, mappings, t), newResidentPeak(p), t.rows()}
}

func newResidentPeak(p *profile.Profile) *ResidentPeak {
	if peak, ok := p.PeakRSS(); ok && peak.RSS >= 0 {
		return &ResidentPeak{peak.RSS, peak.Time}
	}
	return nil
}

func newResidentSet(s *profile.ResidentSet, mappings []profile.Mapping, t *frameTable) *Resident {
	j := &Resident{Parts: []ResidentPart{}, Mappings: []MemoryMapping{}, Files: []ResidentOfFile{}}
	if s == nil {
		return j
	}
	j.TimeNS, j.Bytes, j.Parts = &s.Time, s.Bytes, newResidentParts(s)
	for _, m := range mappings {
		row := MemoryMapping{Stack: m.Stack, Bytes: m.Bytes, Size: m.Size, Frames: t.of(m.Stack)}
		if m.Heap != nil {
			row.Heap, row.Hint = m.Heap.Name, m.Heap.Hint
		}
		j.Mappings = append(j.Mappings, row)
	}
	for _, f := range s.Largest(event.ResidentFile) {
		j.Files = append(j.Files, ResidentOfFile{f.Name, f.Bytes, f.Size})
	}
	return j
}

// newResidentParts returns the sum of each kind.
func newResidentParts(s *profile.ResidentSet) []ResidentPart {
	list := []ResidentPart{}
	for kind := range event.ResidentKinds {
		bytes, size := s.Sum(kind)
		list = append(list, ResidentPart{kind.String(), bytes, size})
	}
	return list
}
