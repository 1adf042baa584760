// SPDX-License-Identifier: Apache-2.0
//
// state.h: what the hooks check first, and which process this is.
#ifndef HT_STATE_H
#define HT_STATE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Lies in a page of its own, which fork wipes (from ht_init on). While it is all 0, every event takes the slow path. It
// is part of the library rather than mapped separately, so that the hooks reach it without a pointer.
#define HT_STATE_PAGE 4096
struct ht_state {
	u64 generation; // 0 only in a forked child that has not noticed the fork yet
	// Not 0: deallocations are recorded with their own call stacks. It lies beside the generation, which every
	// event reads.
	u64 free_stacks;
	// The generation while plain exact recording is on; 0 while slow_flags is not 0. The fast path of an allocation
	// tests this (record.h); that of a deallocation tests `dispatch`.
	u64 common;
	u64 slow_flags; // HT_SLOW_..., see slow.h
	u64 size_mask; // sampled by bytes: all ones; sampled by calls: 0, so that every size counts as 1
	u32 control; // the value of ht_header.control from which this was derived
	u32 noticed_by; // in a forked child: the thread that does the work after a fork
	u32 dispatch; // which path the hooks take: HT_DISPATCH_...
} __attribute__((aligned(HT_STATE_PAGE)));
#define HT_DISPATCH_SLOW 0 // check slow_flags, or record the call stacks of deallocations
#define HT_DISPATCH_EXACT 1 // plain exact recording
#define HT_DISPATCH_FAST_HOOKS 2 // see fast_hooks.h
// Invalidates what is remembered of call stacks.
void ht_generation_raise(void);
extern struct ht_state ht_state[1];

// Returns 1 if the agent is initialized, 0 if it has stepped aside for good. Called by the first event or the
// constructor.
int ht_init(void);
extern u32 ht_process; // this process's slot
extern u32 ht_pid;

#pragma GCC visibility pop

#endif
