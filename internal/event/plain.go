package event

// Plain is the short form of the common events, in 56 bytes: an allocation with known slack, or a deallocation of a
// live block, that is neither Late nor Sampled nor part of a realloc.
type Plain struct {
	Time   uint64 // in units of the recording
	Addr   uint64
	Size   uint64
	Ref    uint64 // PlainFree: number of the allocation
	Born   uint64 // PlainFree: in units, not later than Time
	Stack  uint32
	Thread uint32
	BornBy uint32 // PlainFree
	Way    Way
	Func   Func
}

// Slack returns a PlainAlloc's usable bytes beyond its requested size. The field is shared with Ref.
func (p *Plain) Slack() uint64 { return p.Ref }

// Count returns the first argument of a PlainAlloc's calloc; 0: not recorded. The field is shared with Born.
func (p *Plain) Count() uint64 { return p.Born }

// Way says what a Plain is.
type Way uint8

// The ways.
const (
	PlainAlloc     Way = iota
	PlainFree          // of an allocation that was not the thread's latest
	PlainTemporary     // of the thread's latest allocation
	NotPlain           // the event does not fit; it is kept elsewhere
)
