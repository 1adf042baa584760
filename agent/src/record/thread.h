// SPDX-License-Identifier: Apache-2.0
//
// thread.h: what the agent keeps for every thread.
#ifndef HT_THREAD_H
#define HT_THREAD_H

#include "base/local.h"
#include "base/state.h"
#include "unwind/memo.h"

#pragma GCC visibility push(hidden)

// This many events at the beginning of each chunk, about one in a hundred, take the slow path, which times itself: the
// cost of an event can only be measured in the target, with its stacks and its caches. The first of them are not
// counted, because the chunk and the slow path's code are not in the caches yet.
#define HT_TIMED 32
#define HT_TIMED_COLD 8

struct ht_thread {
	struct ht_stream *stream; // never null
	u64 at; // where the next record goes
	u64 limit; // beyond this, an event may not fit into the current chunk
	u64 fast_limit; // the same for the fast path of record.h; 0 while that is closed
	u64 pos_base; // ht_stream.pos is pos_base + at
	u8 *chunk; // where the current chunk lies
	struct ht_memo memo;
	struct ht_thread *upper; // for a signal handler that interrupts the agent in this one
	struct ht_thread *next; // list of all, never shortened
	u32 tid;
	u32 pid; // the process in which it was made
	u32 level;
	u32 state;
	u32 slot; // index of the stream
	u32 timed; // events that are still to be timed, see record.c
	u64 deep; // a stack pointer below this is recorded, see depth.c; 0: never
	u64 deepest; // the lowest one that was recorded
	u64 pending_depth; // a lower one, of a function that has not ended yet, see cyg.c; 0: none
	struct ht_shadow *shadow; // see shadow.c
	struct ht_counts *counts; // its counts, see counts.c; null: none yet
	struct ht_measures *measures; // see measure.c; null: none yet
	struct ht_regions *regions; // the regions that the thread is in, see regions.c; null: it never was in any
	u64 calling; // odd while it calls monitors
	u32 paused; // its id while it is paused (heaptap_pause), else 0
	u32 serving; // its id while what it allocates serves a pool (heaptap_pool_serve), else 0
	struct ht_local *local; // of its owner
	int *errno_at; // of its owner
	u32 counts_place; // index of its counts
	struct ht_memo memo_of_frees; // --free-stacks: for deallocations, which alternate with allocations
};

extern struct ht_thread ht_no_thread;

// ends.c: has the end of the calling thread noted in its stream.
HT_COLD void ht_thread_note_end(void);
// Begins an event in uncommon cases: a new thread, a forked child, a signal handler that interrupts the agent, the
// agent's very first call. Returns null if the event cannot be recorded (counted).
HT_COLD struct ht_thread *ht_thread_enter(struct ht_thread *t, u64 sp);
// Returns the calling thread's state, and makes one if it has none; null if that is impossible.
HT_COLD struct ht_thread *ht_thread_ensure(u64 sp);
HT_INLINE struct ht_thread *ht_thread_mine(void)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_likely(t != &ht_no_thread) && ht_likely(ht_load(&ht_state->generation) != 0))
		return t;
	return ht_thread_ensure((u64)__builtin_frame_address(0));
}
// All threads' states, signal handlers' and unused ones too; they are linked by `next`.
struct ht_thread *ht_threads(void);
int ht_thread_is_gone(struct ht_thread *t);
// Whether both addresses are on the thread's own stack, as far as its bounds are known.
HT_INLINE int ht_on_stack(const struct ht_thread *t, u64 a, u64 b)
{
	return a >= t->memo.low && a < t->memo.high && b >= t->memo.low && b < t->memo.high;
}
// Records that the thread's stack reaches down to the caller's. To be called if c.sp is below ht_thread.deep.
HT_COLD void ht_deeper(struct ht_caller c);
// Makes room for HT_RECORD_MAX bytes: in the chunk, or by handing it over and taking another one.
HT_COLD void ht_thread_next_chunk(struct ht_thread *t);

// In a forked child: its own process slot, its own streams from now on.
void ht_threads_after_fork(void);
// Returns the calling thread's state, or ht_no_thread. A state that a thread has kept through a fork is its parent's.
HT_INLINE struct ht_thread *ht_thread_own(void)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_unlikely(t->pid != ht_pid && t != &ht_no_thread))
		t = ht_local.thread = &ht_no_thread;
	return t;
}

#pragma GCC visibility pop

#endif
