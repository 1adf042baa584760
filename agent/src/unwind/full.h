// SPDX-License-Identifier: Apache-2.0
//
// full.h: the walk with all registers, for the few frames whose rule needs more than sp and fp.
#ifndef HT_FULL_H
#define HT_FULL_H

#include "unwind/rules.h"
#include "unwind/stack.h"

struct ht_full {
	u64 leaf_pc, leaf_sp; // where the target's stack begins
	u64 started; // scratch->registers hold those of the frame reached last
	u64 interrupted; // HT_PC_INTERRUPTED if that frame was interrupted by a signal
};

// Walks from the leaf, or from where it stopped last, to the frame (pc, sp), and one step further. Returns the caller's
// pc, sp and fp through the pointers, and 0; 1 at the end of the stack; -1 if that frame cannot be reached.
// scratch->needs says what the last step depends on.
int ht_full_step(struct ht_memo *memo, struct ht_full *f, u64 *pc, u64 *sp, u64 *fp);
// The same, but only to the frame (pc, sp) itself. Returns 0 or -1.
int ht_full_reach(struct ht_memo *memo, struct ht_full *f, u64 pc, u64 sp);
// At the frame that was reached: returns register i of HT_KEPT, and where it is kept.
u64 ht_full_register(const struct ht_memo *memo, u32 i);
struct ht_kept ht_full_kept(const struct ht_memo *memo, u32 i);

#endif
