package event

// NamedRange is a range of memory that the program has given a name. The name holds until the same bytes get another
// one. Lists are in the order of the events.
type NamedRange struct {
	Time   int64  // ns since the recording's start
	Thread uint32 // index of the thread that named it
	Event  uint64 // number of events before it
	Start  uint64 // address
	Size   uint64 // bytes
	Name   string
}
