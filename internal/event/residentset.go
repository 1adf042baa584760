package event

// ResidentKind says what a part of a process's resident set is.
type ResidentKind uint8

// The kinds. The values are those of a recording file: append only.
const (
	ResidentLive    ResidentKind = iota // live blocks: what is in memory of their requested bytes
	ResidentSlack                       // the rest of the allocator's memory: slack, free blocks, its own tables
	ResidentMapping                     // what the program mapped itself, by call stack
	ResidentStacks                      // the stacks of the threads
	ResidentStatic                      // the writable data of the program's files
	ResidentFile                        // files: code, constants and what the loader mapped, by path
	ResidentAgent                       // heaptap's own: its file, and the memory that it shares
	ResidentRest                        // what no other kind explains
	ResidentKinds                       // how many there are
)

var residentNames = [ResidentKinds]string{"live", "slack", "mapped", "stacks", "static", "files", "heaptap", "rest"}

// String returns the kind's name, as dumps and JSON have it.
func (k ResidentKind) String() string {
	if k < ResidentKinds {
		return residentNames[k]
	}
	return residentNames[ResidentRest]
}

// ResidentPart is a part of the resident set at one moment. The parts with one time add up to the whole.
type ResidentPart struct {
	Time  int64 // ns since the recording's start
	Kind  ResidentKind
	Bytes uint64 // resident
	Size  uint64 // bytes of address space; of live blocks: requested bytes, resident or not
	Stack uint32 // ResidentMapping: the call stack that mapped it; 0: several, or not known
	Name  string // ResidentFile: the path; "": several
}
