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

#endif
