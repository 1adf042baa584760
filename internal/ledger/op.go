package ledger

import "github.com/heaptap/heaptap/internal/event"

// OpKind says what the agent saw.
type OpKind uint8

// The kinds of ops.
const (
	OpAlloc         OpKind = iota // an allocation function returned Addr; 0: it failed
	OpFree                        // a deallocation function is about to end the block at Addr
	OpReallocBegin                // realloc or reallocarray is about to work on the block at Addr
	OpReallocResult               // it returned Addr for Size bytes; without a begin: it was given NULL
	OpMap                         // the program changed its mappings; passed through
	OpBacking                     // the Size bytes at Addr serve Pool from now on
	OpPoolClear                   // everything that Pool has given out ends
	OpPoolDestroy                 // and so does Pool itself
)

// Op is one record of the agent, in order and in the terms of package event. Only the low 48 bits of addresses count:
// the agent records no more.
type Op struct {
	Time      int64 // since the recording's start, in any unit; the events get it as it is
	Kind      OpKind
	Func      event.Func
	Thread    uint32 // index into the recording's threads
	Stream    uint32 // its own order is certain; a thread has one stream per signal level
	Stack     uint32 // call stack of an allocation, a realloc's result or a mapping change
	FreeStack uint32 // call stack of a deallocation or a realloc's begin, if it was recorded
	HasUsable bool
	Sampled   bool // the allocation was chosen at random
	Late      bool // the record came after the recorder had stopped waiting for it: its Time may be too large
	Addr      uint64
	Size      uint64 // requested bytes
	Usable    uint64 // if HasUsable
	Align     uint64
	Count     uint64
	OldAddr   uint64 // OpMap only
	OldSize   uint64 // OpMap only
	Serves    uint64 // OpAlloc, OpReallocResult: the pool that the block serves, so that it is not counted; 0: none
	Pool      uint64 // the program's own pool that gave out Addr, or takes it back; 0: the real allocator
	Region    uint32 // where its thread was: set by Settle
}

// Block is a live block; its time is in the unit of the ops' times.
type Block = event.Block
