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
// order all ops on one address, save when two are equal (coarse counters), when a record comes late, or when a clock is read too early
// (by at most Skew; never too late: see Ledger.Skew). What shows is a deallocation of an address that is not live, or an allocation over a
// live block. Such an op waits, and with it the later ops on that address. One rule tells what has happened: allocations and ends of blocks
// alternate at an address, the ops of a stream came in its order, no clock was wrong by more than Skew, and of the stories that leaves the one
// with the clocks least wrong is taken.
//
//   - An op that contradicts is settled at once by one that arrives after it from another stream with the same time, at
//     most Skew later, or late: that one happened before. The pairs: allocation over a live block, then its deallocation or the begin of the
//     realloc that moved it; deallocation or begin at an address, then its allocation; deallocation or begin of a block
//     that another stream reallocates, then the result that it failed, or the allocation that proves it to have moved.
//     (Within one tick, an address may pass to another thread after one op, and any number of ops of that thread may
//     follow. More than that would take a tick longer than a cache line's way between cores.)
//   - A realloc whose begin waits is settled with it: its end of the old block waits as a deallocation does, and its new block until it is
//     known what became of the old one, but no longer than Skew unless others wait before it. A realloc that has marked a block may have begun too early as well: what
//     comes to its address within Skew waits for the result, which tells whether it was that block.
//   - What fits is told at once, without waiting for what may contradict it within Skew. So a deallocation that was read early may have ended
//     another thread's block before the deallocation of that came, which then finds nothing to end, or another block that its own thread has
//     allocated since (and likewise with allocations). Both are known by then to have come in the other order: within Skew of each other
//     at one address, of two threads. They are exchanged (counted as Exchanges): the second ends the block that the first one
//     did end. How many blocks are live, and what each thread has allocated and freed, is right nevertheless; which
//     of two threads ended which of two blocks, one after the other at one address, is not.
//   - If the times differ by more, they are believed, unless that takes two things to have gone unrecorded where one wrong clock
//     explains all (counted as Inversions). Whether it does, the next op on the address shows: over a live block, an
//     allocation, a later deallocation and another deallocation mean that both blocks ended in turn.
//   - What nothing has settled when Barrier has been called twice is settled by its time: a deallocation is Unmatched, or
//     Inherited; a block below an allocation was ended by something that nobody recorded (counted as Unseen): its Free
//     event bears event.FuncUnknown and the time and thread of the allocation that proves it.
//
// An op that waited keeps its time unless a later one has been written meanwhile: then its event has that time and is
// flagged Late.
//
// What cannot be told: clocks that were read early such that all fits in their order, though it happened in another. Then two blocks at one
// address have exchanged their ends, or their births. And a block of nobody's (Inherited, Unmatched), freed less than Skew before another thread
// allocates at its address, looks like a deallocation of that thread's block that was read early.
//
// # Fork
//
// The ledger of a forked child starts empty while the child's memory is full of its parent's blocks. The first
// deallocation of an address that this ledger has never seen is Inherited; later ones are Unmatched. It waits only for
// the clock to move on by Skew, since it contradicts nothing.
package ledger
