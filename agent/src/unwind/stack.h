// SPDX-License-Identifier: Apache-2.0
//
// stack.h: which memory around a stack pointer may be read.
//
// A thread's own stack stays readable from the lowest stack pointer ever seen to its top. Other stacks (coroutines,
// signal stacks) may be unmapped, or mapped again with a smaller size, between two events, so every walk that enters
// them checks them again.
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

// Sets b to the readable memory around sp. Returns 0, or -1: none is known to be readable.
HT_COLD int ht_bounds_find(struct ht_memo *memo, u64 sp, struct ht_bounds *b);
// The same for a frame that a signal has interrupted: values that it has just popped, or keeps in the red zone, lie
// below its sp.
HT_COLD int ht_bounds_find_interrupted(struct ht_memo *memo, u64 sp, struct ht_bounds *b);
// For memory that lies beyond these bounds around sp: a foreign stack's mapping may have grown since they were noted.
// Sets b to what there is now. Returns 0, or -1: they are still right.
HT_COLD int ht_bounds_renew(struct ht_memo *memo, u64 sp, struct ht_bounds *b);

#endif
