// SPDX-License-Identifier: Apache-2.0
//
// memo.h: the memo: what a thread remembers of its last stack. unwind.c and walk.c explain it.
#ifndef HT_MEMO_H
#define HT_MEMO_H

#include "base/arch_amd64.h"
#include "base/base.h"
#include "base/state.h"

struct ht_frame {
	u64 pc; // return address into the function, or HT_PC_INTERRUPTED | interrupted address
	u64 sp, fp; // its stack pointer after the return; its frame pointer
	u64 rule;
	u64 hash; // hash of the path from the root to this frame
	u32 node; // node of the calling-context tree, 0 if not looked up yet
	u32 checks; // number of checks of this and all outer frames; HT_FP_LIVE
};
#define HT_FP_LIVE 0x80000000u // the outer frames depend on fp
#define HT_CHECKS(f) ((f)->checks & ~HT_FP_LIVE)

// Checks are stored in pairs, so that two values are compared at once. Check i is half i & 1 of pair i / 2.
struct ht_check_pair {
	const u64 *at[2];
	u64 value[2];
} __attribute__((aligned(16)));
#define HT_CHECK_AT(c, i) ((c)[(i) >> 1].at[(i)&1])
#define HT_CHECK_VALUE(c, i) ((c)[(i) >> 1].value[(i)&1])

#pragma GCC visibility push(hidden)

struct ht_deep;
struct ht_complex;

// One per stream, all zero at first; owned by unwind.c. In private memory of the process.
struct ht_memo {
	// The innermost frame, if its node is known and all checks can be read without asking the kernel; else null.
	const struct ht_frame *leaf;
	// Where ht_walk begins to compare: the innermost frame, settled or loose; null if ht_unwind must be used.
	const struct ht_frame *top;
	struct ht_frame *frames; // root first
	struct ht_check_pair *checks;
	u64 generation; // the ht_state.generation for which the memo is valid
	u64 low, high; // the thread's own stack: [low, high) is readable while sp >= low
	struct ht_frame *loose_end; // the last walk's loose frames end here, see walk.c
	// the sum of the ends of both buffers: the next walk uses the buffer that does not end at loose_end
	u64 both_ends;
	u32 depth; // number of settled frames; 0: nothing is remembered
	u32 loose; // number of loose frames; they lie above the settled ones
	u32 first_foreign; // 1 + index of the first (outermost) frame on a foreign stack; 0: there is none
	u32 frame_capacity, check_capacity;
	u32 next_region;
	struct {
		u64 low, high;
	} regions[4]; // the foreign stacks seen last: coroutines, signal stacks
	struct ht_frame *buffers; // buffers of the loose frames
	void *scratch; // working memory of the CFI interpreter and of the walk with all registers
	u64 scratch_size;
	struct ht_deep *deep; // additional state for deep stacks, see deep.h; null as long as there was none
	u32 near_capacity; // the most frames that the fast path may settle, see deep.h
	u32 complex_count, complex_noted,
		complex_capacity; // remembered complex frames; these and the ones noted in this walk; see complex.h
	struct ht_complex *complex;
};

// Forgets all frames, but keeps the memory: for another thread, or if the frames may be wrong.
HT_INLINE void ht_memo_forget(struct ht_memo *memo)
{
	memo->leaf = 0;
	memo->top = 0;
	HT_FENCE(); // a handler may leave the agent between any two stores, and the memo must be consistent then
	memo->loose = 0;
	HT_FENCE();
	memo->depth = 0;
}

// Forgets all frames and frees the memory.
void ht_memo_free(struct ht_memo *memo);

#pragma GCC visibility pop

// ht_unwind keeps its new frames at the end of the array, the leaf in the last element, so they need no separate memory
// until they are complete.
#define HT_FRAMES_MAX (1u << 20) // the most frames that are remembered
#define HT_FRAMES_NEW (1u << 18) // the most new frames of one walk

// ht_walk keeps its new frames in separate buffers, with one element before them.
#define HT_LOOSE_MAX 40
// After them, ht_unwind keeps the state of its walk.
#define HT_WALK_SIZE 160

HT_INLINE void *ht_walk_room(const struct ht_memo *memo)
{
	return memo->buffers + 2 * (HT_LOOSE_MAX + 1);
}

// Returns the end of the buffer that the loose frames are not in. It is computed rather than stored beside loose_end: a
// handler that leaves the agent between two stores must not make both the same buffer.
HT_INLINE struct ht_frame *ht_spare_end(const struct ht_memo *memo)
{
	return (struct ht_frame *)(memo->both_ends - (u64)memo->loose_end);
}

// Allocates the arrays. Returns 0 or -1.
HT_COLD int ht_memo_start(struct ht_memo *memo);
// Enlarges the array of frames; the last `new_frames` elements move to the new end. The memo is empty meanwhile.
HT_COLD int ht_memo_more_frames(struct ht_memo *memo, u32 new_frames);
// Makes room for at least this many checks.
HT_COLD int ht_memo_more_checks(struct ht_memo *memo, u32 checks);

HT_INLINE ht_two ht_differs(const struct ht_check_pair *c)
{
	return ht_two_xor(ht_two_at(c->at[0], c->at[1]), ht_two_of(c->value));
}

// Returns the highest of the first n checks that fails, or -1.
HT_NOINLINE i32 ht_find_mismatch(const struct ht_check_pair *c, u32 n);

// Whether the first n checks hold. Compares from the last one down.
HT_INLINE int ht_all_hold(const struct ht_check_pair *c, u32 n)
{
	const struct ht_check_pair *k = (const void *)((u64)c + (u64)(n & ~1u) * (sizeof(*c) / 2));
	if (n & 1) {
		u64 is = *k->at[0];
		__asm__("" : "+r"(is)); // in one register, not two: the hooks have no others without saving some
		if (ht_unlikely(is != k->value[0]))
			return 0;
	}
	if (n & 2) {
		k--;
		__asm__("" : "+r"(k)); // as above
		if (ht_unlikely(!ht_two_are_zero(ht_differs(k))))
			return 0;
	}
	if (n & 4) {
		k -= 2;
		if (ht_unlikely(!ht_two_are_zero(ht_two_or(ht_differs(k), ht_differs(k + 1)))))
			return 0;
	}
	ht_two any = ht_two_zero();
	while (k > c) { // without tests in between, because the processor has only so many branches in flight
		k -= 4;
		ht_two lower = ht_two_or(ht_differs(k), ht_differs(k + 1));
		ht_two upper = ht_two_or(ht_differs(k + 2), ht_differs(k + 3));
		any = ht_two_or(any, ht_two_or(lower, upper));
	}
	return ht_likely(ht_two_are_zero(any));
}

// Appends n new frames (root first: pc, sp, fp and rule) to the first `base` remembered ones and completes them and
// their checks. `up` is the frame to which the first of them returns; `flag` is HT_NODE_TRUNCATED if the stack was cut
// there. The caller has made room.
void ht_settle(struct ht_memo *memo, u32 base, const struct ht_frame *new, u32 n, const struct ht_frame *up, u32 flag);
// Makes the missing nodes of the path to frames[leaf]. Returns the deepest node that exists then. `flag` as above.
HT_NOINLINE u32 ht_make_path(struct ht_frame *frames, u32 leaf, u32 flag);
// Settles the loose frames up to and including `innermost`, which is one of them, and drops the others. Returns 0; or
// -1 if they are dropped, too, because the stack is deep (deep.h), or if there is no memory and the memo is empty.
HT_NOINLINE int ht_settle_loose(struct ht_memo *memo, const struct ht_frame *innermost);

// If the leaf has changed: walks until it meets a remembered frame.
HT_NOINLINE u32 ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);
// The same, for all stacks (slow path).
HT_NOINLINE u32 ht_unwind(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);

// Returns the remembered leaf if nothing has changed since, else null. Arguments as of ht_capture; the caller has
// checked the generation.
HT_INLINE const struct ht_frame *ht_memo_same(const struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	const struct ht_frame *leaf = memo->leaf;
	if (ht_likely(leaf && leaf->sp == sp && leaf->pc == pc && (!(leaf->checks & HT_FP_LIVE) || leaf->fp == fp)) &&
	    ht_likely(ht_all_hold(memo->checks, HT_CHECKS(leaf))))
		return leaf;
	return 0;
}

// Returns the stack id of a call stack; 0 if there is none (counted). Its leaf is the call with return address pc, by a
// caller whose stack pointer after the return is sp and whose frame pointer is fp. fp is only used where call frame
// information says so. The caller has set ht_stream.busy; this is never entered twice for one memo.
HT_INLINE u32 ht_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	const struct ht_frame *leaf = 0;
	if (ht_likely(memo->generation == ht_load(&ht_state->generation)))
		leaf = ht_memo_same(memo, pc, sp, fp);
	return ht_likely(leaf != 0) ? leaf->node : ht_walk(memo, pc, sp, fp);
}

#endif
