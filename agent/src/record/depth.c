// SPDX-License-Identifier: Apache-2.0
//
// depth.c: records how deep a thread's own stack has become, in steps of 4 KiB, with the call stack at that depth.
//
// An event whose leaf frame differs from the last one's compares its stack pointer with ht_thread.deep. The fast path
// of record.h need not, because an event was at this place before.

#include "base/local.h"
#include "unwind/stack.h"
#include "record/record.h"
#include "record/thread.h"

#define STEP 4096ull

// Whether this is a coroutine's or signal handler's stack that a walk has seen before. Then no other walk need find
// that out.
static int is_known_foreign(const struct ht_memo *memo, u64 sp)
{
	for (u32 i = 0; i < 4 && !ht_on_own_stack(memo, sp); i++)
		if (sp - memo->regions[i].low < memo->regions[i].high - memo->regions[i].low)
			return 1;
	return 0;
}

void ht_deeper(struct ht_caller c)
{
	struct ht_thread *t;
	u32 stack;
	if (ht_has_slow_flags() && !ht_slow_records())
		return;
	t = ht_begin(c);
	if (!t)
		return;
	int foreign = is_known_foreign(&t->memo, c.sp);
	stack = foreign ? 0 : ht_capture(&t->memo, c.pc, c.sp, c.fp); // this finds out whose stack it is
	if (foreign || !ht_on_own_stack(&t->memo, c.sp)) {
		// A foreign stack has no depth of this kind.
		ht_end(t, t->stream, (u64 *)t->at);
		return;
	}
	u64 depth = t->memo.high - c.sp;
	t->deepest = c.sp;
	t->deep = t->memo.high - (depth / STEP + 1) * STEP;
	ht_store(&t->stream->stack_low, c.sp);
	ht_store(&t->stream->stack_high, t->memo.high);
	ht_write_stacked(t, HT_K_STACK, c.sp, depth, depth, 0, 0, stack);
}
