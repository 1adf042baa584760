// Package event defines what a recording is made of: one process's allocations, deallocations and mapping changes, in
// order, after the ledger has matched every deallocation to the allocation that it ends.
//
// Data flows one way. Package record puts the agent's records (package wire) in order, package ledger matches them into
// events, package tally counts the events, and package recording writes them. A reader of a recording gets the same
// events back and can count them with the same package tally, so that every number has one definition.
package event

// Kind says what happened.
type Kind uint8

// The kinds of events. A realloc of a block becomes a Free with Realloc set, followed (not necessarily at once) by an
// Alloc with Realloc set; a failed one becomes a Fail and ends nothing.
const (
	Alloc      Kind = iota // a block was allocated
	Free                   // the block of allocation Ref ended
	Unmatched              // of an address that was not live: allocated before the recording, freed twice, foreign
	Inherited              // a deallocation of a block that the parent process allocated before the fork
	Fail                   // an allocation function returned null although bytes were requested
	Map                    // the program itself called mmap, munmap, mremap or brk
	Unrecorded             // a deallocation whose allocation may not have been recorded: stopped, sampled, paused
	KindCount
)

var kindNames = [KindCount]string{Alloc: "alloc", Free: "free", Unmatched: "unmatched", Inherited: "inherited",
	Fail: "fail", Map: "map", Unrecorded: "unrecorded"}

// String returns the kind's name, as dumps and tables have it.
func (k Kind) String() string {
	if k < KindCount {
		return kindNames[k]
	}
	return "unknown"
}

// NoRef is the Ref of an event that ends no allocation of this recording.
const NoRef = ^uint64(0)

// Event is one event. Fields that do not apply to its kind are 0 (Ref: NoRef). The fields that nearly every event has
// come first and fill 64 bytes.
type Event struct {
	Time   int64  // nanoseconds since the recording's start, never less than the event before
	Ref    uint64 // Free: number of the allocation (counting Alloc events from 0) that it ends; else NoRef
	Size   uint64 // requested bytes: of the block, also for the Free that ends it
	Usable uint64 // usable bytes, if HasUsable
	Born   int64  // Free: time of the allocation that it ends
	Addr   uint64 // of the block
	Stack  uint32 // call stack: of the allocation, also for the Free that ends it; 0: unknown
	Thread uint32 // index into the recording's threads
	BornBy uint32 // Free: thread of that allocation
	Kind   Kind   //
	Func   Func   // the function that the program called
	Flags  Flags
	// FreeStack is the call stack of the deallocation itself; 0 unless it was recorded (--free-stacks).
	FreeStack uint32
	Align     uint64 // requested alignment; 0: none
	Count     uint64 // first argument of calloc and reallocarray; 0: not recorded
	OldAddr   uint64 // Map: for mremap the old range, for brk the previous break
	OldSize   uint64

	weight weight // set for Sampled events
}

// Block is a live block.
type Block struct {
	Addr   uint64
	Size   uint64 // requested bytes
	Stack  uint32
	Thread uint32 // that allocated it
	Ref    uint64 // number of its allocation
	Born   int64  // time of its allocation
	// Sampled says that the allocation was sampled at random.
	Sampled bool
	Func    Func // that allocated it
}

// Flags qualify an event.
type Flags uint8

const (
	// Realloc marks the Free and the Alloc that together represent one realloc of a live block.
	Realloc Flags = 1 << iota
	// HasUsable says that Usable was read from the allocator.
	HasUsable
	// Temporary marks a Free of the thread's own latest allocation, with no other allocation of that thread in
	// between. The Free half of a realloc never has it: the block lives on in its new form.
	Temporary
	// InPlace marks the Alloc half of a realloc that returned the same address.
	InPlace
	// Late marks an event whose timestamp was before one already written. Its Time is the latest time written.
	Late
	// Sampled marks an allocation that was sampled at random, and the Free that ends its block. It stands for several
	// allocations, see Weight.
	Sampled
)

// Func is a function that the agent intercepts. The values are those of a recording file: append only.
type Func uint8

// Functions that allocate, that deallocate, and that change mappings.
const (
	FuncUnknown Func = iota
	Malloc
	Calloc
	ReallocFunc
	Reallocarray
	PosixMemalign
	AlignedAlloc
	Memalign
	Valloc
	Pvalloc
	New
	NewArray
	NewNothrow
	NewArrayNothrow
	NewAligned
	NewArrayAligned
	NewAlignedNothrow
	NewArrayAlignedNothrow
	FreeFunc
	Cfree
	FreeSized
	FreeAlignedSized
	Delete
	DeleteArray
	DeleteSized
	DeleteArraySized
	DeleteNothrow
	DeleteArrayNothrow
	DeleteAligned
	DeleteArrayAligned
	DeleteSizedAligned
	DeleteArraySizedAligned
	DeleteAlignedNothrow
	DeleteArrayAlignedNothrow
	Mmap
	Munmap
	Mremap
	Brk
	// What the program reports about its own pools. The last four only end blocks.
	PoolAlloc
	PoolFree
	PoolMove
	PoolBacking // ends a block that backs a pool from then on
	PoolClear
	PoolDestroy
	PoolReturned // the memory that backed the pool was freed
	FuncCount
)

var funcNames = [FuncCount]string{
	FuncUnknown: "unknown", Malloc: "malloc", Calloc: "calloc", ReallocFunc: "realloc", Reallocarray: "reallocarray",
	PosixMemalign: "posix_memalign", AlignedAlloc: "aligned_alloc", Memalign: "memalign", Valloc: "valloc",
	Pvalloc: "pvalloc", New: "operator new", NewArray: "operator new[]", NewNothrow: "operator new (nothrow)",
	NewArrayNothrow: "operator new[] (nothrow)", NewAligned: "operator new (aligned)",
	NewArrayAligned: "operator new[] (aligned)", NewAlignedNothrow: "operator new (aligned, nothrow)",
	NewArrayAlignedNothrow: "operator new[] (aligned, nothrow)", FreeFunc: "free", Cfree: "cfree",
	FreeSized: "free_sized", FreeAlignedSized: "free_aligned_sized", Delete: "operator delete",
	DeleteArray: "operator delete[]", DeleteSized: "operator delete (sized)",
	DeleteArraySized: "operator delete[] (sized)", DeleteNothrow: "operator delete (nothrow)",
	DeleteArrayNothrow: "operator delete[] (nothrow)", DeleteAligned: "operator delete (aligned)",
	DeleteArrayAligned: "operator delete[] (aligned)", DeleteSizedAligned: "operator delete (sized, aligned)",
	DeleteArraySizedAligned:   "operator delete[] (sized, aligned)",
	DeleteAlignedNothrow:      "operator delete (aligned, nothrow)",
	DeleteArrayAlignedNothrow: "operator delete[] (aligned, nothrow)",
	Mmap:                      "mmap", Munmap: "munmap", Mremap: "mremap", Brk: "brk",
	PoolAlloc: "pool_alloc", PoolFree: "pool_free", PoolMove: "pool_move", PoolBacking: "pool_backing",
	PoolClear: "pool_clear", PoolDestroy: "pool_destroy", PoolReturned: "pool memory freed",
}

// Frees says whether the program calls the function to deallocate one block.
func (f Func) Frees() bool { return f >= FreeFunc && f <= DeleteArrayAlignedNothrow || f == PoolFree }

// InPool says whether the function allocates from one of the program's own pools.
func (f Func) InPool() bool { return f == PoolAlloc || f == PoolMove }

// String returns the function's name as a C or C++ programmer writes it.
func (f Func) String() string {
	if f < FuncCount {
		return funcNames[f]
	}
	return funcNames[FuncUnknown]
}
