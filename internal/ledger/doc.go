// Package ledger answers one question: which allocation does a deallocation end?
//
// It keeps the live blocks by address. An op of the agent goes in, events of package event come out: an allocation gets
// the next number, a deallocation the number of the allocation that it ends, with that block's size, stack, thread and
// time of birth. No two blocks are ever live at one address, and the events' times never decrease.
//
// # Realloc
//
// A realloc arrives as a begin and a result, which nest like brackets within a stream. The begin only marks the block:
// it stays live, and counted, until the result says what became of it. A new address: the old block ends and the new one
// is born at the result's time, so the peak counts neither both nor none. Null for a size above 0: the mark goes away and
// nothing has happened. Null for size 0: a plain deallocation, at the result's time. A result without a begin was a
// realloc of NULL, a plain allocation.
//
// The allocator may give the old address to another thread before the result is recorded. An allocation at the address
// of a marked block proves that the realloc has moved it: the old block ends there and then, and when the result arrives
// only its new form is still to be born.
//
// # Contradictions
//
// The agent records a deallocation before the real function runs and an allocation after it returned, so the timestamps
// order all ops on one address, save when two are equal (coarse counters), when a record comes late, or when clocks of
// different cores disagree. What shows is a deallocation of an address that is not live, or an allocation over a live
// block. Such an op waits, and with it the later ops on that address; a realloc's begin waits at most for its result. The
// ops of one stream are never reordered.
//
//   - An op that contradicts is settled at once by one that arrives after it from another stream with the same time, at
//     most Skew later, or late: that one happened before. The pairs: allocation over a live block, then its deallocation or the begin of the
//     realloc that moved it; deallocation or begin at an address, then its allocation; deallocation or begin of a block
//     that another stream reallocates, then the result that it failed, or the allocation that proves it to have moved.
//     (Within one tick, an address may pass to another thread after one op, and any number of ops of that thread may
//     follow, but no whole realloc. More than that would take a tick longer than a cache line's way between cores.)
//   - If the times differ, they are believed, unless that takes two things to have gone unrecorded where one wrong clock
//     explains all (counted as Inversions). Whether it does, the next op on the address shows: over a live block, an
//     allocation, a later deallocation and another deallocation mean that both blocks ended in turn.
//   - What nothing has settled when Barrier has been called twice is settled by its time: a deallocation is Unmatched, or
//     Inherited; a block below an allocation was ended by something that nobody recorded (counted as Unseen): its Free
//     event bears event.FuncUnknown and the time and thread of the allocation that proves it.
//
// An op that waited keeps its time unless a later one has been written meanwhile: then its event has that time and is
// flagged Late.
//
// # Fork
//
// The ledger of a forked child starts empty while the child's memory is full of its parent's blocks. The first
// deallocation of an address that this ledger has never seen is Inherited; later ones are Unmatched. It waits only for
// the clock to move on, since it contradicts nothing.
package ledger
