package event

// Family is a group of functions that belong together: what one of them has allocated, only one of the same family may free.
type Family uint8

// The families.
const (
	NoFamily         Family = iota // mapping changes, and what is not known
	FamilyC                        // malloc, free and their kin
	FamilyNew                      // operator new and delete
	FamilyArray                    // operator new[] and delete[]
	FamilyNewAligned               // the same with an alignment
	FamilyArrayAligned
)

var families = [FuncCount]Family{
	Malloc: FamilyC, Calloc: FamilyC, ReallocFunc: FamilyC, Reallocarray: FamilyC, PosixMemalign: FamilyC, AlignedAlloc: FamilyC,
	Memalign: FamilyC, Valloc: FamilyC, Pvalloc: FamilyC, FreeFunc: FamilyC, Cfree: FamilyC, FreeSized: FamilyC, FreeAlignedSized: FamilyC,
	New: FamilyNew, NewNothrow: FamilyNew, Delete: FamilyNew, DeleteSized: FamilyNew, DeleteNothrow: FamilyNew,
	NewArray: FamilyArray, NewArrayNothrow: FamilyArray, DeleteArray: FamilyArray, DeleteArraySized: FamilyArray,
	DeleteArrayNothrow: FamilyArray,
	NewAligned:         FamilyNewAligned, NewAlignedNothrow: FamilyNewAligned, DeleteAligned: FamilyNewAligned,
	DeleteSizedAligned: FamilyNewAligned, DeleteAlignedNothrow: FamilyNewAligned,
	NewArrayAligned: FamilyArrayAligned, NewArrayAlignedNothrow: FamilyArrayAligned, DeleteArrayAligned: FamilyArrayAligned,
	DeleteArraySizedAligned: FamilyArrayAligned, DeleteArrayAlignedNothrow: FamilyArrayAligned,
}

// Family is the one that a function belongs to.
func (f Func) Family() Family {
	if f < FuncCount {
		return families[f]
	}
	return NoFamily
}

// plain is the family of operators without an alignment, for one of those with.
func (f Family) plain() Family {
	switch f {
	case FamilyNewAligned:
		return FamilyNew
	case FamilyArrayAligned:
		return FamilyArray
	}
	return f
}

// Sized says whether a deallocation function is told the block's size.
func (f Func) Sized() bool {
	switch f {
	case FreeSized, FreeAlignedSized, DeleteSized, DeleteArraySized, DeleteSizedAligned, DeleteArraySizedAligned:
		return true
	}
	return false
}

// Mismatch says in what an allocation and the deallocation that ended it do not belong together.
type Mismatch uint8

// The mismatches. The values are those of a recording file: append only.
const (
	MismatchFunction  Mismatch = 1 << iota // the deallocation is of another family: free of what operator new has made
	MismatchSize                           // the deallocation was told another size
	MismatchAlignment                      // it was told another alignment, or one where there was none, or none where there was one
	Mismatches        = 1<<iota - 1
)

// MismatchOf compares two functions. What was asked for is compared by those who know it.
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

// isAligned says whether a C function allocates with an alignment.
func isAligned(f Func) bool { return f >= PosixMemalign && f <= Pvalloc || f.Family() != FamilyC }

// Pair is an allocation and a deallocation that do not belong together, as often as they occurred with the same functions and call
// stacks.
type Pair struct {
	Mismatch    Mismatch
	Alloc, Free Func
	Stack       uint32 // of the allocation; 0: unknown
	FreeStack   uint32 // of the deallocation; 0: not recorded (--free-stacks)
	Count       uint64 // blocks; the rest tells of the first one
	Time        int64  // of the deallocation, ns since the recording's start
	Thread      uint32 // that freed it
	Size        uint64 // requested bytes
	FreeSize    uint64 // what the deallocation was told, if it is Sized
	Align       uint64 // that was asked for; 0: none, or not known
	FreeAlign   uint64 // what the deallocation was told; 0: nothing
}
