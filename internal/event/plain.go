package event

// Plain is an event as nearly all are: an allocation that is not late, not Sampled and no part of a realloc, whose slack is known; or a
// deallocation of a live block, likewise. It has 56 bytes.
type Plain struct {
	Time   uint64 // in units
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

// Slack is how many usable bytes beyond its size a PlainAlloc has, and Count its first argument, 0 if it is not told. They lie where
// others have Ref and Born.
func (p *Plain) Slack() uint64 { return p.Ref }
func (p *Plain) Count() uint64 { return p.Born }

// Way says what a Plain is.
type Way uint8

// The ways.
const (
	PlainAlloc     Way = iota
	PlainFree          // of an allocation that was not the thread's latest
	PlainTemporary     // of the thread's latest allocation
	NotPlain           // it is kept elsewhere
)
