// SPDX-License-Identifier: Apache-2.0
//
// complex.h: what is remembered of frames whose step needs more registers than sp and fp (HT_R_COMPLEX).
//
// Their step is a function of a few memory cells, which become checks like all others, and of registers that a call
// preserves. An inner frame keeps such a register in memory, or none does and it still is in the register. For each one
// we remember its value and the cell that keeps it: so these frames, and those inside of them, are remembered like all
// others.
#ifndef HT_COMPLEX_H
#define HT_COMPLEX_H

#include "unwind/full.h"
#include "unwind/memo.h"

struct ht_complex {
	u32 frame; // its index; during a walk, its number among the new ones
	u64 least; // the least sp of the frames that keep a register for this frame or for an outer one of this list
	struct ht_full_needs needs;
};

// The beginning of a walk.
HT_INLINE void ht_complex_begin(struct ht_memo *memo)
{
	memo->complex_noted = memo->complex_count;
}
// Notes a frame for whose step ht_full_step has just found the needs; `number` is its number among the new ones, the
// leaf's being 1. 0, or -1: it cannot be remembered.
int ht_complex_note(struct ht_memo *memo, u32 number);
// The first `base` frames stay, and n new ones come behind them: those that were noted are among these.
void ht_complex_place(struct ht_memo *memo, u32 base, u32 n);
// The complex frame with this index; null if it is not remembered.
const struct ht_complex *ht_complex_at(const struct ht_memo *memo, u32 frame);
// Frame k is as it was, and so are all cells that the steps from there on read. 1 + index of the innermost complex
// frame from there on that does not find its registers as they were; 0: there is none. Frames outside of `floor` find
// them so if all is as it was up to there. HT_COMPLEX_UNKNOWN: the walk with all registers must first reach frame k
// (reached).
#define HT_COMPLEX_UNKNOWN (~0u)
u32 ht_complex_differs(struct ht_memo *memo, u32 k, u32 floor, int reached);

// After all, only the first `depth` frames are remembered.
HT_INLINE void ht_complex_keep(struct ht_memo *memo, u32 depth)
{
	while (memo->complex_count && memo->complex[memo->complex_count - 1].frame >= depth)
		memo->complex_count--;
}

#endif
