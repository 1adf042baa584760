// Package ledger answers one question: which allocation does a deallocation end?
//
// It keeps the live blocks by address. Ops of the agent go in, events of package event come out, in the same batch: an
// allocation gets the next number, a deallocation gets the number of the allocation that it ends, with that block's
// size, stack, thread and time of birth. Two blocks are never live at one address, and the times of the events never
// decrease.
//
//	batch.go     Settle: a batch of ops becomes one of events
//	op.go        an op that does not fit into a row
//	ledger.go    ops that fit, and the events
//	fast.go      the loop that settles most of them
//	table.go     the live blocks
//	realloc.go   begins and results of reallocs; brackets.go: those under way
//	conflict.go  ops that contradict what is live, which wait
//	reorder.go   the rule: what has happened at an address, given what waits there
//	settle.go    applies what the rule concludes
//	pools.go     the program's own pools
//
// # Realloc
//
// A realloc arrives as a begin and a result, which nest like brackets within a stream. The begin only marks the block.
// It stays live, and counted, until the result:
//
//   - A new address: the old block ends and the new one is born at the result's time, so that the peak counts exactly
//     one of them.
//   - Null for a size above 0: the realloc failed. The mark is removed.
//   - Null for size 0: a deallocation, at the result's time.
//   - A result without a begin was a realloc of NULL: an allocation.
//
// The allocator may give the old address to another thread before the result is recorded. An allocation at the address
// of a marked block proves that the realloc has moved that block: it ends there and then, and only the new block is
// left for the result.
//
// # Contradictions
//
// The agent records a deallocation before the real function runs, and an allocation after it has returned. So the
// timestamps order all ops at one address, with three exceptions: two timestamps are equal because the counter is
// coarse, a record comes late, or a clock was read too early, by at most [Ledger.Skew]; it is never read too late.
// Then a deallocation seems to end nothing, or an allocation seems to lie over a live block. Such an op waits, and so
// do the later ops at its address, until it is certain what has happened.
//
// The rule: allocations and ends alternate at an address, the ops of a stream keep their order, and no clock is wrong
// by more than Skew, except in records that came late. Of the stories that satisfy this, the one whose clocks are
// least wrong has happened. If none does, one op that was not recorded is more likely than a clock that is wrong by
// more than Skew, and that is more likely than two ops that were not recorded.
//
// The ledger does not wait for every op that might change the story:
//
//   - An op that fits is settled at once.
//   - An op that contradicts is settled by the first later op that explains it, if that is of another stream and has
//     the same time, at most Skew more, or is late: that op happened first (Counts.Ties). An allocation over a live
//     block is explained by that block's deallocation or realloc; a deallocation of nothing by the allocation of its
//     block; the deallocation of a block in a realloc by the result that says that the realloc failed, or by an
//     allocation that proves that the block was moved.
//   - An op that fitted may have been read early, so that it took the place of another thread's op that came within
//     Skew of it at the same address. When that other op finds nothing to end, or lies over the block, the two are
//     exchanged (Counts.Exchanges): the second ends the block that the first did end. Each block still has one birth
//     and one end, and what is live and what each thread has allocated and freed is right. Which of the two threads
//     ended which of the two blocks is not.
//   - If the times differ by more than Skew, they are believed, unless two ops would have to be unrecorded where one
//     wrong clock explains everything (Counts.Inversions). The next op at the address decides. For example, after an
//     allocation over a live block, one deallocation may be that of the new block; two mean that both blocks have
//     ended.
//   - The result of a realloc whose begin waits, waits with it: the end of the old block as a deallocation does, and
//     the new block until it is settled what became of the old one. It waits no longer than Skew, unless other ops
//     wait before it.
//   - What still waits when Barrier has been called twice is settled by its time: a deallocation is Unmatched, or
//     Inherited; a block below an allocation was ended by something that nobody recorded (Counts.Unseen), and its Free
//     event has event.FuncUnknown and the time and thread of the allocation that proves it.
//
// An op that waited keeps its time, unless an event with a later time has been written meanwhile. Then its event has
// that time and the flag Late.
//
// Two things remain unknown. Clocks that were read early may make a different order fit: then two blocks at one
// address have exchanged their ends or their births. And a block that was never recorded, if it is freed less than
// Skew before another thread allocates at its address, looks like that thread's block, freed by a clock that was read
// early.
//
// # Fork
//
// The ledger of a forked child starts empty, while the child's memory is full of its parent's blocks. The first
// deallocation of an address that this ledger has never seen is Inherited; later ones are Unmatched. It waits only
// until the clock has moved on by Skew.
package ledger
