// SPDX-License-Identifier: Apache-2.0
//
// deep.h: stacks so deep that comparing everything that is remembered of them, at every event, would cost more than the
// target's own work. docs/design/0003-unwinding.md explains the bound.
#ifndef HT_DEEP_H
#define HT_DEEP_H

#include "unwind/memo.h"

// Up to this many frames, everything is compared every time. walk.c never sees a memo with more.
#define HT_NEAR 4096u

// How fast a thread can rewrite its stack from the innermost frame on, at most: frames by calls, bytes by stores. For
// each tick of the clock: no known processor has more than 4.3 cycles a tick and calls once a cycle there; those that
// call twice have fewer than 3. For each nanosecond of CPU time: no known processor has more than 6.2 cycles, and those
// that call twice have fewer than 6. A store writes at most 64 bytes a cycle. What does not fit the first cache is
// fetched and written back as well, at 64 bytes a cycle together.
#define HT_REWRITE_FRAMES 6
#define HT_REWRITE_BYTES 320
#define HT_REWRITE_FRAMES_NS 12
#define HT_REWRITE_BYTES_NS 400
#define HT_REWRITE_NEAR (128u << 10) // no first cache is larger; beyond it, half as fast
// Added to that: the work in flight while the processor reads the clock.
#define HT_REWRITE_FRAMES_MORE 1024
#define HT_REWRITE_BYTES_MORE (32u << 10)
#define HT_CACHE_LINE 64 // each frame has one to itself, or shares it with the next frame

// A frame of this size may contain another stack: code that runs on a part of its caller's frame and leaves that part
// without returning. With less room than this, the first signal would destroy what lies beyond (MINSIGSTKSZ).
#define HT_GAP 2048
#define HT_GAPS_MAX 500

#define HT_LINES_STEP 256

// All of it belongs to ht_unwind.
struct ht_deep {
	u64 seen; // the clock when the last walk had ended
	u64 cpu; // the thread's CPU time then, in nanoseconds; 0: not known
	u64 slept; // how often the thread had slept at the last query
	u32 scanned; // number of frames, root first, that odd and gaps cover
	u32 odd; // 1 + index of the outermost frame for which no bound holds; 0: there is none
	u32 beyond; // 1: the last stack had more frames than can be remembered
	u32 turn; // the next check to make beyond the bound

	// State of one walk:
	u32 frames; // number of frames that may have been rewritten
	u32 met; // the first remembered frame that the walk met; ~0: none yet
	u64 bytes;

	u32 gap_count;
	u32 gaps[HT_GAPS_MAX]; // indices of large frames, root first

	// How many of the frames with an index below i * HT_LINES_STEP begin on a different cache line than the next
	// outer one.
	u32 lines[HT_FRAMES_MAX / HT_LINES_STEP + 1];
};

// Not 0 once a bound was wrong in this process: from then on, everything is always compared.
extern u32 ht_deep_distrusted;

// Begins a walk on the thread's own stack, with this many frames remembered. Returns whether there is a bound.
int ht_deep_begin(struct ht_memo *memo, u32 depth);
// Returns the highest check of the frames up to k that fails, or -1.
HT_NOINLINE i32 ht_deep_mismatch(const struct ht_memo *memo, u32 k);
// After that: returns the outermost frame that was compared because the thread may have rewritten it.
u32 ht_deep_floor(const struct ht_memo *memo);
// Ends a walk after which `depth` frames are remembered, all on the thread's own stack; the first `base` of them were
// kept. beyond: the stack has more frames.
void ht_deep_end(struct ht_memo *memo, u32 base, u32 depth, u32 beyond);
// The same if the stack is not deep.
HT_INLINE void ht_deep_none(struct ht_memo *memo)
{
	if (ht_unlikely(memo->deep != 0))
		memo->deep->scanned = 0;
}
// Returns the state for deep stacks, allocated at first use; null if there is no memory.
struct ht_deep *ht_deep_of(struct ht_memo *memo);

#endif
