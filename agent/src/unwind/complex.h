// SPDX-License-Identifier: Apache-2.0
//
// complex.h: remembers frames whose step needs more registers than sp and fp (HT_R_COMPLEX).
//
// Their step depends on a few memory cells, which become checks like all others, and on registers that a call
// preserves. Such a register is saved in memory by an inner frame, or is still in the register. For each, we remember
// its value and the cell that keeps it. So these frames, and those inside them, can be remembered like all others.
#ifndef HT_COMPLEX_H
#define HT_COMPLEX_H

#include "unwind/full.h"
#include "unwind/memo.h"

struct ht_complex {
	u32 frame; // its index; during a walk, its number among the new frames
	u64 least; // the least sp of the frames that keep a register for this frame or for an outer one of this list
	struct ht_full_needs needs;
};

// The beginning of a walk.
HT_INLINE void ht_complex_begin(struct ht_memo *memo)
{
	memo->complex_noted = memo->complex_count;
}
// Notes a frame whose needs ht_full_step has just found. `number` is its number among the new frames; the leaf's is 1.
// Returns 0, or -1: it cannot be remembered.
int ht_complex_note(struct ht_memo *memo, u32 number);
// Called when the first `base` frames stay and n new ones follow them; the noted ones are among these.
void ht_complex_place(struct ht_memo *memo, u32 base, u32 n);
// Returns the complex frame with this index; null if it is not remembered.
const struct ht_complex *ht_complex_at(const struct ht_memo *memo, u32 frame);
// Given that frame k, and all cells that the steps from there on read, are unchanged: returns 1 + the index of the
// innermost complex frame from there on whose registers have changed; 0 if there is none. Frames outside of `floor` are
// unchanged if everything up to there is. HT_COMPLEX_UNKNOWN: the walk with all registers must first reach frame k
// (reached).
#define HT_COMPLEX_UNKNOWN (~0u)
u32 ht_complex_differs(struct ht_memo *memo, u32 k, u32 floor, int reached);

// Forgets all but the first `depth` frames.
HT_INLINE void ht_complex_keep(struct ht_memo *memo, u32 depth)
{
	while (memo->complex_count && memo->complex[memo->complex_count - 1].frame >= depth)
		memo->complex_count--;
}

#endif
