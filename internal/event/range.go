package event

// NamedRange says that the program has given a name to a range of its memory. It holds until the bytes are named anew. Names come in the
// order of the events.
type NamedRange struct {
	Time   int64  // ns since the recording's start
	Thread uint32 // index of the thread that named it
	Event  uint64 // number of events before it
	Start  uint64 // address
	Size   uint64 // bytes
	Name   string
}
