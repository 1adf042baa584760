package event

import "strconv"

// RegionNote says that a thread entered a region, or left some: a region is a named span of what a thread does. Notes come in the order
// of the events.
type RegionNote struct {
	Time   int64  // ns since the recording's start
	Thread uint32 // index of the thread
	Event  uint64 // number of events before it
	Alloc  uint64 // number of allocations before it
	Leaves uint32 // how many of the thread's regions were left, from the innermost on; 0: one was entered
	Name   string // of the region that was entered, or of the outermost one that was left
	IDs    [RegionIDs]int64
	Count  uint8 // of the IDs, those that there are
	// Late says that the note is of the event that comes next: it was settled after its thread had gone on. It happened before the latest
	// Back notes that the thread entered or left regions by. Nothing else of such a note counts.
	Late Lateness
	Back uint32
}

// Lateness says of what kind an event is that was settled late.
type Lateness uint8

// Notes of regions are none of an event; LateAlloc and LateFree are of an allocation and of a deallocation.
const (
	NotLate Lateness = iota
	LateAlloc
	LateFree
)

// RegionIDs is how many numbers a region may have.
const RegionIDs = 4

// Title is the region's name and its numbers, as name/1/2.
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
