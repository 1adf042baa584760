// SPDX-License-Identifier: Apache-2.0
//
// memo.h: what a thread remembers of its last stack, in detail; unwind.c explains it.
#ifndef HT_MEMO_H
#define HT_MEMO_H

#include "agent.h"

struct ht_frame {
	u64 pc; // return address into the function, or HT_PC_INTERRUPTED | interrupted one
	u64 sp, fp; // its stack pointer after the return; its frame pointer
	u64 rule;
	u64 hash; // of the path from the root down to here
	u32 node; // of the calling-context tree, 0 if not looked up yet
	u32 checks; // number of checks of this and all outer frames; HT_FP_LIVE
};
#define HT_FP_LIVE 0x80000000u // the outer frames depend on fp
#define HT_CHECKS(f) ((f)->checks & ~HT_FP_LIVE)

struct ht_check {
	const u64 *at;
	u64 value;
};

// A walk keeps its new frames at the end of the array, the leaf in the last element: so they need no memory of their own
// until they are complete.
#define HT_FRAMES_MAX (1u << 20)

// Makes the arrays; 0 or -1.
HT_COLD int ht_memo_start(struct ht_memo *memo);
// More room for frames; the last `new_frames` elements move to the new end. The memo holds nothing meanwhile.
HT_COLD int ht_memo_more_frames(struct ht_memo *memo, u32 new_frames);
// Room for at least this many checks.
HT_COLD int ht_memo_more_checks(struct ht_memo *memo, u32 checks);

// The highest check that does not hold, or -1: all do.
#define HT_DIFFERS(i) (*k[-(i)].at ^ k[-(i)].value)
HT_INLINE i32 ht_find_mismatch(const struct ht_check *c, u32 n)
{
	const struct ht_check *k = c + n;
	for (; n >= 8; n -= 8, k -= 8)
		if (ht_unlikely((HT_DIFFERS(1) | HT_DIFFERS(2) | HT_DIFFERS(3) | HT_DIFFERS(4) | HT_DIFFERS(5) |
				 HT_DIFFERS(6) | HT_DIFFERS(7) | HT_DIFFERS(8)) != 0))
			break;
	if (n & 4 && n < 8 && !(HT_DIFFERS(1) | HT_DIFFERS(2) | HT_DIFFERS(3) | HT_DIFFERS(4)))
		n -= 4;
	while (n > 0) {
		n--;
		if (*c[n].at != c[n].value)
			return (i32)n;
	}
	return -1;
}

// The long way of ht_capture: a walk, until it meets what is remembered.
HT_NOINLINE u32 ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);

// Returns the stack id of the call stack whose leaf is the call with return address pc, made by a caller whose stack
// pointer after the return is sp and whose frame pointer is fp; 0 if there is none (counted). fp is only used where call
// frame information says so. The caller has set ht_stream.busy; this is never entered twice for one memo.
HT_INLINE u32 ht_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	const struct ht_frame *leaf = memo->leaf;
	if (ht_likely(leaf && leaf->sp == sp && leaf->pc == pc && (!(leaf->checks & HT_FP_LIVE) || leaf->fp == fp) &&
		      memo->generation == ht_load(&ht_state->generation)) &&
	    ht_likely(ht_find_mismatch(memo->checks, HT_CHECKS(leaf)) < 0))
		return leaf->node;
	return ht_walk(memo, pc, sp, fp);
}

#endif
