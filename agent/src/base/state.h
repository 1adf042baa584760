// SPDX-License-Identifier: Apache-2.0
//
// state.h: what the hooks look at before all else, and which process this is.
#ifndef HT_STATE_H
#define HT_STATE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Lies in a page of its own that a fork wipes, from ht_init on; all 0 before, so that every event takes the slow way.
// Part of the library, not mapped for itself: so the hooks reach it without a pointer.
#define HT_STATE_PAGE 4096
struct ht_state {
	u64 generation; // 0: in a child that has not noticed yet; never otherwise
	// Not 0: deallocations are recorded with their own call stacks. Beside the generation, which every event reads.
	u64 free_stacks;
	// The generation while every event is recorded in the plain way; 0 while slow_flags is not 0. The short path of
	// an allocation looks at this, see record.h; that of a deallocation looks at `dispatch`.
	u64 common;
	u64 slow_flags; // HT_SLOW_..., see slow.h
	u64 size_mask; // sampled by bytes: all ones; by calls: 0, so that every size counts as 1
	u32 control; // the ht_header.control that this comes from
	u32 noticed_by; // in a forked child: the thread that does what is to be done then
	u32 dispatch; // which path the hooks take: HT_DISPATCH_...
} __attribute__((aligned(HT_STATE_PAGE)));
#define HT_DISPATCH_SLOW 0 // slow_flags must be looked at, or the call stacks of deallocations are wanted
#define HT_DISPATCH_EXACT 1 // every event is recorded in the plain way
#define HT_DISPATCH_FAST_HOOKS 2 // see fast_hooks.h
// What was remembered of call stacks holds no longer.
void ht_generation_raise(void);
extern struct ht_state ht_state[1];

// 1 when the agent is up, 0 when it is not and never will be. Called by the first event or the constructor.
int ht_init(void);
extern u32 ht_process; // this process's slot
extern u32 ht_pid;

#pragma GCC visibility pop

#endif
