// SPDX-License-Identifier: Apache-2.0
//
// stack.h: which memory may be read when a stack pointer is given.
//
// A thread's own stack stays readable from the lowest place where its stack pointer was ever seen up to its top. Other
// stacks (coroutines, signal stacks) may be unmapped, or mapped anew and smaller, between two events: they are asked
// for again in every walk that enters them.
#ifndef HT_STACK_H
#define HT_STACK_H

#include "base/base.h"
#include "unwind/memo.h"

struct ht_bounds {
	u64 low, high; // readable
	u32 own; // it is the thread's own stack
};

HT_INLINE int ht_on_own_stack(const struct ht_memo *memo, u64 sp)
{
	return sp - memo->low < memo->high - memo->low;
}

// Sets b to the readable memory around sp. 0, or -1: none is known to be.
HT_COLD int ht_bounds_find(struct ht_memo *memo, u64 sp, struct ht_bounds *b);
// The same for a frame that a signal has interrupted: what it has just popped, or keeps in the red zone, lies below its
// sp.
HT_COLD int ht_bounds_find_interrupted(struct ht_memo *memo, u64 sp, struct ht_bounds *b);

#endif
