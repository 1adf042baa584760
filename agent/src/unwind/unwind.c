// SPDX-License-Identifier: Apache-2.0
//
// unwind.c: the exact call stack of every event, at a cost that mostly does not depend on its depth.
//
// A step from a frame to its caller is a pure function of (pc, sp, fp if it is live) and of the memory that it reads. A
// thread remembers its last stack as frames, root first, and all the memory that their steps read as a linear list of
// checks: address and value. A new walk steps from the leaf until it meets a remembered (pc, sp, live fp). From there
// on it only compares the remembered cells with memory. If all are equal, then by induction the rest of the stack, up
// to the root, is unchanged. A cell that differs belongs to some frame: everything up to that frame is unchanged, its
// caller is found by a real step, and from there the walk may meet the memo again further out. The total work is
// O(depth).
//
// fp is live in a frame if its step uses it, or if it hands it on unchanged to a caller in which it is live. Elsewhere,
// compiled code uses the register for anything, so it must not be compared.
//
// longjmp, exceptions, alloca, coroutines and signal stacks may all change the stack unseen, but they can only make
// comparisons fail. Knowing without a comparison which outer cells are unchanged would require replaced return
// addresses, which break exceptions and shadow stacks. Only for very deep stacks, the time since the last event tells
// enough (deep.h).
//
// walk.c has a fast form of the common case; this file handles everything.
//
// While the memo is being changed, it holds nothing, or less than before, because a signal handler may leave us by
// longjmp.
//
// Frames outside of the thread's own stack are remembered, too, but their cells are only read after asking the kernel
// whether they are still mapped (stack.h). memo->first_foreign is the first such frame.

// If the compiler packs pairs of registers into vectors, this loop loses a third of its speed.
#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize", "omit-frame-pointer")
#endif

#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "unwind/cct.h"
#include "unwind/complex.h"
#include "unwind/deep.h"
#include "unwind/full.h"
#include "unwind/memo.h"
#include "unwind/modules.h"
#include "unwind/rules.h"
#include "unwind/shadow.h"
#include "unwind/stack.h"

#define SWITCHES_MAX 32 // the most changes of stack in one walk

struct walk {
	struct ht_memo *memo;
	u64 pc, sp, fp;
	struct ht_bounds bounds;
	u32 n; // new frames so far
	u32 foreign; // number (1: leaf) of the outermost new frame that lies on a foreign stack
	u32 complex; // the same for frames that cannot be remembered
	u32 switches;
	u32 bounded; // 1: not all checks need be made, see deep.h
	// limit of new frames; if there are more, and the walk has not reached any remembered one, the remembered ones
	// are unchanged
	u32 most;
	u32 end; // where the new frames would end in the array if all of them were kept; see make_room
	struct ht_full full;
};

enum { CONTINUE, END, CUT, BEYOND };

// ---------------------------------------------------------------------------------------------------------------------
// Checks

// The same if some cells lie on foreign stacks. A check whose cell cannot be read fails.
static HT_NOINLINE i32 find_mismatch_carefully(struct walk *w, u32 n)
{
	const struct ht_check_pair *c = w->memo->checks;
	struct ht_bounds b = w->bounds;
	for (u32 switches = 0; n > 0;) {
		n--;
		u64 at = (u64)HT_CHECK_AT(c, n);
		if (at < b.low || at > b.high - 8) {
			// The cell's page, and what lies above it up to the end of that stack.
			if (++switches > SWITCHES_MAX || ht_bounds_find(w->memo, at, &b) < 0 || at > b.high - 8)
				return (i32)n;
		}
		if (*HT_CHECK_AT(c, n) != HT_CHECK_VALUE(c, n))
			return (i32)n;
	}
	return -1;
}

// Returns a check of the innermost frame whose registers have changed, or -1. All cells are unchanged.
static HT_NOINLINE i32 changed_register(struct walk *w, u32 k)
{
	struct ht_memo *memo = w->memo;
	u32 floor = w->bounded ? ht_deep_floor(memo) : 0, frame = ht_complex_differs(memo, k, floor, 0);
	if (frame == HT_COMPLEX_UNKNOWN) {
		int reached = ht_full_reach(memo, &w->full, memo->frames[k].pc, memo->frames[k].sp);
		frame = reached == 0 ? ht_complex_differs(memo, k, floor, 1) : k + 1;
	}
	return frame > 1 ? (i32)HT_CHECKS(&memo->frames[frame - 2]) : (i32)frame - 1;
}

// ---------------------------------------------------------------------------------------------------------------------
// Uncommon steps

#define GROWTH_MAX (1u << 20) // an address further beyond the bounds is not a frame's, so the kernel is not asked

static int in_bounds(const struct ht_bounds *b, u64 at, u64 size)
{
	return at >= b->low && at < b->high && b->high - at >= size;
}

// Whether this memory of the stack around w->sp may be read. Renews the bounds if need be.
static HT_NOINLINE int readable(struct walk *w, u64 at, u64 size)
{
	if (in_bounds(&w->bounds, at, size))
		return 1;
	return at + size - w->bounds.high < GROWTH_MAX && ht_bounds_renew(w->memo, w->sp, &w->bounds) == 0 &&
	       in_bounds(&w->bounds, at, size);
}

// The walk continues at w->sp, perhaps on another stack.
static int switch_stack(struct walk *w)
{
	if (++w->switches > SWITCHES_MAX || ht_bounds_find(w->memo, w->sp, &w->bounds) < 0)
		return CUT;
	return CONTINUE;
}

// By frame pointer: a guess, but a correct one in all code that keeps frame pointers, as JIT compilers do.
static int step_by_chain(struct walk *w, u64 rule)
{
	const u64 *frame = (const u64 *)w->fp;
	if (!w->fp) // generated code has a caller, so it uses the register for something else
		return HT_RULE_FP(rule) == HT_FP_NO_CODE ? CUT : END;
	if (w->fp & 7 || w->fp < w->sp || !readable(w, w->fp, 16))
		return CUT;
	ht_count(HT_C_GUESSED);
	w->sp = w->fp + 16;
	w->fp = frame[0];
	w->pc = frame[1];
	return w->pc ? CONTINUE : END;
}

static int step_from_signal(struct walk *w)
{
	u64 u = w->sp;
	if (!readable(w, u, HT_UCONTEXT_SIZE))
		return CUT;
	w->pc = *(const u64 *)(u + HT_UCONTEXT_PC) | HT_PC_INTERRUPTED;
	w->sp = *(const u64 *)(u + HT_UCONTEXT_SP);
	w->fp = *(const u64 *)(u + HT_UCONTEXT_FP);
	if (++w->switches > SWITCHES_MAX || ht_bounds_find_interrupted(w->memo, w->sp, &w->bounds) < 0)
		return CUT;
	return CONTINUE;
}

static int step_fully(struct walk *w)
{
	int r = ht_full_step(w->memo, &w->full, &w->pc, &w->sp, &w->fp), own = (int)w->bounds.own;
	if (r < 0) {
		w->complex = w->n;
		ht_count(HT_C_BAD_CFI);
		return CUT;
	}
	int how = r == 1 || !(w->pc & ~HT_PC_INTERRUPTED) ? END : switch_stack(w);
	if (r == 1 || !own || !w->bounds.own || ht_complex_note(w->memo, w->n) < 0)
		w->complex = w->n;
	return how;
}

// A frame whose caller's frame ends beyond the known bounds, or below it: code that runs on a different stack.
static int step_across(struct walk *w, u64 rule, u64 cfa)
{
	u64 fp = w->fp, at;
	int where = (int)HT_RULE_FP(rule);
	if (where == HT_FP_AT_FP) {
		at = w->fp + HT_RULE_FP_OFFSET(rule);
		if (!readable(w, at, 8))
			return CUT;
		fp = *(const u64 *)at;
	}
	u64 from = w->sp;
	at = where == HT_FP_AT_CFA ? cfa + HT_RULE_FP_OFFSET(rule) : cfa - 8;
	w->sp = at < cfa - 8 ? at : cfa - 8; // nothing below it is known to be readable
	if (switch_stack(w) != CONTINUE || !readable(w, cfa - 8, 8) || !readable(w, at, 8) ||
	    (w->bounds.own && cfa <= from && w->foreign != w->n))
		return CUT;
	if (where == HT_FP_AT_CFA)
		fp = *(const u64 *)at;
	w->pc = *(const u64 *)(cfa - 8);
	w->sp = cfa;
	w->fp = fp;
	if (!w->bounds.own)
		w->foreign = w->n; // its cells lie there
	return w->pc ? CONTINUE : END;
}

static HT_NOINLINE int step_uncommon(struct walk *w, u64 rule)
{
	switch (HT_RULE_TYPE(rule)) {
	case HT_R_END:
		w->pc = 0;
		return END;
	case HT_R_SIGNAL:
		return step_from_signal(w);
	case HT_R_CHAIN:
		return step_by_chain(w, rule);
	case HT_R_COMPLEX:
		return step_fully(w);
	}
	if (HT_RULE_FP(rule) != HT_FP_NO_CODE)
		ht_count(HT_C_BAD_CFI);
	return CUT;
}

// ---------------------------------------------------------------------------------------------------------------------
// The walk

static int forget(struct ht_memo *memo)
{
	ht_memo_forget(memo);
	memo->low = memo->high = 0;
	for (u32 i = 0; i < 4; i++)
		memo->regions[i].low = memo->regions[i].high = 0;
	memo->generation = ht_load_acquire(&ht_state->generation);
	return ht_memo_start(memo);
}

// Makes room in the full array. First, new frames overwrite remembered ones, which then cannot be met. If all frames
// are new, there are more than can be remembered. Then only the outermost will be, and the inner half is dropped.
// Returns the end of the frames, or 0 if there is no memory.
static HT_NOINLINE u32 make_room(struct ht_memo *memo, u32 end, u32 n, i32 *k)
{
	struct ht_frame *frames = memo->frames;
	u32 capacity = memo->frame_capacity;
	if (ht_memo_more_frames(memo, n) == 0)
		return memo->frame_capacity;
	if (capacity != HT_FRAMES_MAX + HT_FRAMES_NEW)
		return 0;
	*k = (i32)(end - n) - 2;
	if (*k >= 0)
		return end;
	u32 half = capacity / 2;
	__builtin_memmove(&frames[capacity - half], &frames[end - n], half * sizeof(*frames));
	*k = -1;
	return capacity + n - half;
}

// Walks from the leaf to the root, or to where the remembered frames are unchanged. Returns the number of these in
// base.
static int climb(struct walk *w, u32 depth, u32 *base)
{
	struct ht_memo *memo = w->memo;
	struct ht_frame *frames = memo->frames;
	u32 end = memo->frame_capacity, n = 0;
	u32 intact = depth; // number of remembered frames that no new one has overwritten
	i32 k = (i32)depth - 1; // the innermost of them that the walk can still meet
	i32 known = 0x7fffffff; // from this one to k, all are known to be unchanged
	u64 pc = w->pc, sp = w->sp, fp = w->fp, low = w->bounds.low, high = w->bounds.high, rule, cfa;
	int r;

	*base = 0;
	for (;;) {
		while (k >= 0 && frames[k].sp < sp)
			k--;
		if (k >= 0 && frames[k].sp == sp && frames[k].pc == pc &&
		    (!(frames[k].checks & HT_FP_LIVE) || frames[k].fp == fp)) {
			if (k < known) {
				i32 m;
				if (ht_unlikely(w->bounded))
					m = ht_deep_mismatch(memo, (u32)k);
				else if (ht_likely(!memo->first_foreign || (u32)k + 1 < memo->first_foreign))
					m = ht_all_hold(memo->checks, HT_CHECKS(&frames[k]))
						    ? -1
						    : ht_find_mismatch(memo->checks, HT_CHECKS(&frames[k]));
				else
					m = find_mismatch_carefully(w, HT_CHECKS(&frames[k]));
				if (m < 0 && ht_unlikely(memo->complex_count != 0))
					m = changed_register(w, (u32)k);
				if (m < 0) {
					*base = (u32)k + 1;
					w->n = n;
					return END;
				}
				known = k;
				while (known > 0 && (i32)HT_CHECKS(&frames[known - 1]) > m)
					known--;
			}
			rule = frames[k--].rule;
		} else {
			known = 0x7fffffff;
			rule = ht_rule_get(memo, pc);
		}
		if (ht_unlikely((i32)(end - n) - 1 <= k)) {
			if (intact > end - n)
				intact = end - n;
			u32 room = make_room(memo, end, n, &k);
			if (!room) {
				w->n = n;
				return CUT;
			}
			frames = memo->frames;
			w->end = end = room;
		}
		if (ht_unlikely(n == w->most)) {
			if (k == (i32)depth - 1 && w->bounds.own && ht_deep_mismatch(memo, (u32)k) < 0)
				return BEYOND;
		}
		n++;
		struct ht_frame *x = &frames[end - n];
		x->pc = pc;
		x->sp = sp;
		x->fp = fp;
		x->rule = rule;

		u32 type = HT_RULE_TYPE(rule), where = HT_RULE_FP(rule);
		if (ht_likely(type == HT_R_SP))
			cfa = sp + HT_RULE_OFFSET(rule);
		else if (type == HT_R_FP)
			cfa = fp + HT_RULE_OFFSET(rule);
		else if (type == HT_R_LOAD_FP) {
			u64 at = fp + HT_RULE_OFFSET(rule);
			if (at < low || at > high - 8) {
				w->sp = sp, w->n = n;
				if (!readable(w, at, 8))
					return CUT;
				low = w->bounds.low, high = w->bounds.high;
			}
			cfa = *(const u64 *)at;
		} else {
			w->pc = pc, w->sp = sp, w->fp = fp, w->n = n;
			if (!w->bounds.own)
				w->foreign = n;
			r = step_uncommon(w, rule);
			if (r != CONTINUE)
				return r;
			goto elsewhere;
		}
		if (ht_unlikely(cfa < sp + 8 || cfa > high)) {
			w->pc = pc, w->sp = sp, w->fp = fp, w->n = n;
			if (!w->bounds.own)
				w->foreign = n;
			r = step_across(w, rule, cfa);
			if (r != CONTINUE)
				return r;
			goto elsewhere;
		}
		if (where != HT_FP_SAME) {
			u64 at = (where == HT_FP_AT_CFA ? cfa : fp) + HT_RULE_FP_OFFSET(rule);
			if (ht_unlikely(at < low || at > high - 8)) {
				w->sp = sp, w->n = n;
				if (!readable(w, at, 8))
					return CUT;
				low = w->bounds.low, high = w->bounds.high;
			}
			fp = *(const u64 *)at;
		}
		pc = *(const u64 *)(cfa - 8);
		sp = cfa;
		if (ht_unlikely(!w->bounds.own))
			w->foreign = n;
		if (ht_unlikely(!pc)) {
			w->pc = 0, w->sp = sp, w->fp = fp, w->n = n;
			return END;
		}
		continue;
	elsewhere:
		// Remembered frames of the other stack may have been skipped because of their addresses.
		pc = w->pc, sp = w->sp, fp = w->fp, low = w->bounds.low, high = w->bounds.high;
		if (intact > end - n)
			intact = end - n;
		k = (i32)intact - 1;
		known = 0x7fffffff;
	}
}

// A stack with more frames than can be remembered: its leaf represents all of it, so that each event costs the same.
static HT_NOINLINE u32 cut_node(struct ht_memo *memo, u64 pc)
{
	struct ht_frame *leaf = ht_spare_end(memo) - 1;
	ht_count(HT_C_TRUNCATED);
	leaf->rule = ht_rule_get(memo, pc);
	leaf->hash = ht_cct_hash(HT_CCT_ROOT, HT_RULE_PC_ID(leaf->rule) | HT_NODE_TRUNCATED);
	leaf->node = ht_cct_find(leaf->hash);
	return leaf->node ? leaf->node : ht_make_path(leaf, 0, HT_NODE_TRUNCATED);
}

HT_NOINLINE u32 ht_unwind(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	u32 depth, base, total, node;
	int how;

	if (ht_unlikely(ht_enter_exit) && (node = ht_shadow_capture(memo, pc, sp, fp)))
		return node;
	if (ht_unlikely(memo->generation != ht_load_acquire(&ht_state->generation) || !memo->frames || !memo->buffers ||
			!memo->checks) &&
	    forget(memo) < 0) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	// Not on the target's stack, which may be small.
	_Static_assert(sizeof(struct walk) <= HT_WALK_SIZE, "the walk's room");
	struct walk *w = (struct walk *)ht_walk_room(memo);
	*w = (struct walk){memo, pc, sp, fp, {0, 0, 0}, 0, 0, 0, 0, 0, ~0u, memo->frame_capacity, {pc, sp, 0, 0}};
	if (memo->loose)
		ht_settle_loose(memo, memo->loose_end - 1);
	depth = memo->depth;
	ht_memo_forget(memo);
	ht_complex_begin(memo);
	HT_FENCE();
	if (ht_likely(ht_on_own_stack(memo, sp))) {
		w->bounds = (struct ht_bounds){memo->low, memo->high, 1};
	} else if (ht_bounds_find(memo, sp, &w->bounds) < 0) {
		ht_count(HT_C_TRUNCATED);
		return 0;
	}
	if (ht_unlikely(depth > HT_NEAR) && ht_deep_begin(memo, depth)) {
		w->bounded = 1;
		if (memo->deep->beyond)
			w->most = memo->deep->frames;
	}
	how = climb(w, depth, &base);
	if (ht_unlikely(how == BEYOND)) {
		ht_deep_end(memo, depth, depth, 1);
		HT_FENCE();
		memo->depth = depth;
		return cut_node(memo, pc);
	}
	total = base + w->n;
	if (ht_unlikely(how == CUT) && total <= HT_FRAMES_MAX)
		ht_count(HT_C_TRUNCATED);
	if (!total)
		return 0;
	// At most three checks a frame.
	u32 new = ht_likely(total <= HT_FRAMES_MAX) ? w->n : HT_FRAMES_MAX - base;
	u32 checks = (base ? HT_CHECKS(&memo->frames[base - 1]) : 0) + 3 * new;
	if (ht_unlikely(checks > memo->check_capacity) && ht_memo_more_checks(memo, checks) < 0) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	if (ht_unlikely(memo->complex_noted != 0))
		ht_complex_place(memo, base, w->n);
	struct ht_frame *up = ht_spare_end(memo) - 1; // the frame to which the outermost frame returns
	*up = (struct ht_frame){w->pc, w->sp, w->fp, 0, HT_CCT_ROOT, 0, 0};
	ht_settle(memo, base, &memo->frames[w->end - w->n], new, up, base == 0 && how == CUT ? HT_NODE_TRUNCATED : 0);
	if (ht_unlikely(total > HT_FRAMES_MAX)) {
		depth = how == CUT || w->foreign || w->complex || memo->first_foreign ? 0 : HT_FRAMES_MAX;
		ht_complex_keep(memo, depth);
		if (depth)
			ht_deep_end(memo, base, depth, 1);
		HT_FENCE();
		memo->depth = depth;
		return cut_node(memo, pc);
	}

	struct ht_frame *leaf = &memo->frames[total - 1];
	node = leaf->node;
	if (!node) {
		node = leaf->node = ht_cct_find(leaf->hash);
		if (ht_unlikely(!node))
			node = ht_make_path(memo->frames, total - 1, how == CUT ? HT_NODE_TRUNCATED : 0);
	}
	// otherwise one of the kept frames is the first
	if (ht_likely(!memo->first_foreign) || memo->first_foreign > base)
		memo->first_foreign = ht_unlikely(w->foreign) ? base + (w->n - w->foreign) + 1 : 0;
	depth = how == CUT ? 0 : w->complex ? base + (w->n - w->complex) : total;
	ht_complex_keep(memo, depth);
	if (ht_unlikely(depth > HT_NEAR) && !memo->first_foreign)
		ht_deep_end(memo, base, depth, 0);
	else
		ht_deep_none(memo);
	HT_FENCE();
	memo->depth = depth;
	if (memo->first_foreign || !depth || depth > HT_NEAR || memo->complex_count ||
	    ht_enter_exit) // then every event tries ht_shadow_capture first
		return node;
	memo->top = &memo->frames[memo->depth - 1];
	if (ht_likely(memo->top == leaf && leaf->node && !ht_in_loader(pc)))
		memo->leaf = leaf;
	return node;
}
