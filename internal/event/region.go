package event

import "strconv"

// RegionNote says that a thread entered a region or left some. A region is a named, nested span of a thread's time.
// Notes are in the order of the events.
type RegionNote struct {
	Time   int64  // ns since the recording's start
	Thread uint32 // index of the thread
	Event  uint64 // number of events before it
	Alloc  uint64 // number of allocations before it
	Leaves uint32 // how many of the thread's regions were left, the innermost first; 0: one was entered
	Name   string // of the region that was entered, or of the outermost one that was left
	IDs    [RegionIDs]int64
	Count  uint8 // how many IDs are set
	// Late is set if the note does not enter or leave a region, but says where the next event belongs: that event was
	// settled late, after its thread had entered or left regions Back times since. All other fields are unused then.
	Late Lateness
	Back uint32
}

// Lateness says whether a note is about a late event, and of which kind that is.
type Lateness uint8

// The kinds of late events.
const (
	NotLate   Lateness = iota // the note enters or leaves a region
	LateAlloc                 // the next event is a late allocation
	LateFree                  // the next event is a late deallocation
)

// RegionIDs is the largest number of IDs that a region may have.
const RegionIDs = 4

// Title returns the region's name and its IDs, as name/1/2.
func (r *RegionNote) Title() string {
	if r.Count == 0 {
		return r.Name
	}
	b := []byte(r.Name)
	for _, id := range r.IDs[:min(r.Count, RegionIDs)] {
		b = strconv.AppendInt(append(b, '/'), id, 10)
	}
	return string(b)
}
