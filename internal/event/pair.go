package event

// Family is a group of functions that belong together: a block that one of them allocates must be freed by another one
// of the same family.
type Family uint8

// The families.
const (
	NoFamily         Family = iota // mapping changes and unknown functions
	FamilyC                        // malloc, free and related C functions
	FamilyNew                      // operator new and delete
	FamilyArray                    // operator new[] and delete[]
	FamilyNewAligned               // the same with an alignment
	FamilyArrayAligned
)

var families = [FuncCount]Family{
	Malloc: FamilyC, Calloc: FamilyC, ReallocFunc: FamilyC, Reallocarray: FamilyC, PosixMemalign: FamilyC,
	AlignedAlloc: FamilyC, Memalign: FamilyC, Valloc: FamilyC, Pvalloc: FamilyC, FreeFunc: FamilyC, Cfree: FamilyC,
	FreeSized: FamilyC, FreeAlignedSized: FamilyC,
	New: FamilyNew, NewNothrow: FamilyNew, Delete: FamilyNew, DeleteSized: FamilyNew, DeleteNothrow: FamilyNew,
	NewArray: FamilyArray, NewArrayNothrow: FamilyArray, DeleteArray: FamilyArray, DeleteArraySized: FamilyArray,
	DeleteArrayNothrow: FamilyArray,
	NewAligned:         FamilyNewAligned, NewAlignedNothrow: FamilyNewAligned, DeleteAligned: FamilyNewAligned,
	DeleteSizedAligned: FamilyNewAligned, DeleteAlignedNothrow: FamilyNewAligned,
	NewArrayAligned: FamilyArrayAligned, NewArrayAlignedNothrow: FamilyArrayAligned,
	DeleteArrayAligned:      FamilyArrayAligned,
	DeleteArraySizedAligned: FamilyArrayAligned, DeleteArrayAlignedNothrow: FamilyArrayAligned,
}

// Family returns the family of a function.
func (f Func) Family() Family {
	if f < FuncCount {
		return families[f]
	}
	return NoFamily
}

// plain returns the family without alignment that corresponds to an aligned one.
func (f Family) plain() Family {
	switch f {
	case FamilyNewAligned:
		return FamilyNew
	case FamilyArrayAligned:
		return FamilyArray
	}
	return f
}

// Sized says whether the block's size is an argument of the deallocation function.
func (f Func) Sized() bool {
	switch f {
	case FreeSized, FreeAlignedSized, DeleteSized, DeleteArraySized, DeleteSizedAligned, DeleteArraySizedAligned:
		return true
	}
	return false
}

// Mismatch says how a deallocation does not fit the allocation that it ended.
type Mismatch uint8

// The mismatches. The values are those of a recording file: append only.
const (
	MismatchFunction  Mismatch = 1 << iota // the functions are of different families: free of a block from operator new
	MismatchSize                           // the size passed to the deallocation is not the requested one
	MismatchAlignment                      // the alignments differ, or only one side has one
	Mismatches        = 1<<iota - 1
)

// MismatchOf compares two functions. It does not compare sizes and alignments; their callers do.
func MismatchOf(alloc, free Func) Mismatch {
	a, f := alloc.Family(), free.Family()
	switch {
	case a == NoFamily || f == NoFamily:
		return 0
	case free == FreeAlignedSized && !isAligned(alloc), free == FreeSized && alloc == AlignedAlloc: // C23, 7.24.3
		return MismatchAlignment
	case a == f:
		return 0
	case a.plain() != f.plain():
		return MismatchFunction
	}
	return MismatchAlignment
}

// isAligned says whether a function allocates with an alignment.
func isAligned(f Func) bool { return f >= PosixMemalign && f <= Pvalloc || f.Family() != FamilyC }

// Pair counts mismatched allocations and deallocations that have the same functions and call stacks.
type Pair struct {
	Mismatch    Mismatch
	Alloc, Free Func
	Stack       uint32 // of the allocation; 0: unknown
	FreeStack   uint32 // of the deallocation; 0: not recorded (--free-stacks)
	Count       uint64 // blocks; the following fields describe the first one
	Time        int64  // of the deallocation, ns since the recording's start
	Thread      uint32 // that freed it
	Size        uint64 // requested bytes
	FreeSize    uint64 // size passed to the deallocation, if it is Sized
	Align       uint64 // requested alignment; 0: none, or not known
	FreeAlign   uint64 // alignment passed to the deallocation; 0: none
}
