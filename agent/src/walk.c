// SPDX-License-Identifier: Apache-2.0
//
// walk.c: the common case of unwind.c, with as few instructions as we could find.
//
// Common is: the thread's own stack; frames that are found from sp or fp; and after a few of them a remembered one, from
// which on all is as it was. Everything else, as soon as it shows, is left to ht_unwind, which begins anew.
//
// The frames at the top of a stack come and go: of those that a walk finds most are gone at the next event. So they are not
// laid down at once. They stay where the walk has put them, "loose", with neither checks nor hashes, in one of two buffers:
// root first, the leaf in the last element, and before them an element with the sp of the frame where they begin. The next
// walk compares with them as with all others. If it stands at one of them, that one and what lies below it are laid down,
// and all is as if that had been done at once; if it passes them, they are forgotten.

#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize", "omit-frame-pointer")
#endif

#include "memo.h"
#include "rules.h"
#include "cct.h"

// The outermost of the frames from f on that are as remembered, although not all below f are.
static HT_NOINLINE const struct ht_frame *first_intact(const struct ht_memo *memo, const struct ht_frame *f)
{
	i32 check = ht_find_mismatch(memo->checks, HT_CHECKS(f));
	while (f > memo->frames && (i32)HT_CHECKS(f - 1) > check)
		f--;
	return f;
}

// All of what the walk has found is new: remembers it. `met` is the innermost frame that has stayed.
static u32 remember(struct ht_memo *memo, const struct ht_frame *met, struct ht_frame *new)
{
	struct ht_frame *end = ht_spare_end(memo);
	u64 hash = met->hash;
	u32 node;

	for (const struct ht_frame *x = new; x < end; x++)
		hash = ht_cct_hash(hash, HT_RULE_PC_ID(x->rule));
	node = ht_cct_find(hash);
	end[-1].node = node;
	new[-1].sp = met->sp;
	memo->loose = 0;
	HT_FENCE();
	memo->depth = (u32)(met + 1 - memo->frames);
	memo->loose_end = end;
	HT_FENCE();
	memo->loose = (u32)(end - new);
	if (ht_likely(node != 0)) {
		memo->top = end - 1;
		return node;
	}
	// A stack that there was not before.
	if (ht_lay_down(memo, end - 1) < 0)
		return 0;
	node = ht_make_path(memo->frames, memo->depth - 1, 0);
	memo->top = &memo->frames[memo->depth - 1];
	if (memo->top->node && !ht_in_loader(memo->top->pc))
		memo->leaf = memo->top;
	return node;
}

// The leaf is where it was, and its node is known or will be.
static u32 remain(struct ht_memo *memo, struct ht_frame *leaf)
{
	if (ht_unlikely(!leaf->node))
		leaf->node = ht_cct_find(leaf->hash);
	u32 node = leaf->node;
	if (ht_unlikely(!node))
		node = ht_make_path(memo->frames, (u32)(leaf - memo->frames), 0);
	memo->loose = 0;
	HT_FENCE();
	memo->depth = (u32)(leaf + 1 - memo->frames);
	memo->top = leaf;
	if (leaf->node && !ht_in_loader(leaf->pc))
		memo->leaf = leaf;
	return node;
}

// The next loose frame if this one lies below sp: without a branch, which could not be predicted. One step may be too few;
// then we miss a loose frame that we could have met, but not the one where they begin.
HT_INLINE const struct ht_frame *pass_below(const struct ht_frame *f, u64 sp)
{
	u64 step = f->sp < sp ? sizeof(*f) : 0;
	__asm__("" : "+r"(step)); // or the compiler makes a branch of it
	return (const struct ht_frame *)((u64)f - step);
}

// Leaves the loose frames, if they are being compared with, for those below them.
HT_INLINE void pass_loose(const struct ht_memo *memo, const struct ht_frame **f, const struct ht_frame **last,
			  u64 *limit)
{
	if (*last != memo->frames) {
		*f = &memo->frames[memo->depth - 1];
		*last = memo->frames;
		*limit = memo->frames->sp;
	}
}

HT_NOINLINE u32 ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	const struct ht_frame *f = memo->top; // the frame that we may meet next
	const struct ht_frame *known = (const struct ht_frame *)~0ull; // from f down to this one all are as remembered
	struct ht_frame *end = ht_spare_end(memo), *x = end;
	struct ht_rule_view rules = ht_rule_view();
	u64 low = memo->low, room = memo->high - 8 - low, rule, cfa;

	if (ht_unlikely(!f || memo->generation != ht_load_acquire(&ht_state->generation) || sp < low))
		return ht_unwind(memo, pc, sp, fp);
	memo->leaf = 0;
	memo->top = 0;
	HT_FENCE();
	// Where comparing ends: at the frame before the loose ones, or at the outermost one of all. As long as sp is not above
	// its, no search runs beyond it, and all that is read below it is on the thread's own stack.
	const struct ht_frame *last = memo->loose ? memo->loose_end - memo->loose - 1 : memo->frames;
	u64 limit = last->sp;
	if (ht_unlikely(sp >= limit)) {
		pass_loose(memo, &f, &last, &limit);
		if (sp > limit)
			goto uncommon;
	}
	for (;;) {
		if (last != memo->frames)
			f = pass_below(f, sp);
		else
			while (f->sp < sp)
				f--;
		if (f->sp != sp || f->pc != pc) {
			rule = ht_rule_see(&rules, memo, pc);
		} else {
			if (last != memo->frames) {
				if (ht_lay_down(memo, f) < 0)
					goto uncommon;
				pass_loose(memo, &f, &last, &limit);
			}
			if (f->checks & HT_FP_LIVE && f->fp != fp) {
				rule = ht_rule_see(&rules, memo, pc);
			} else {
				if (f < known) {
					if (ht_likely(ht_all_hold(memo->checks, HT_CHECKS(f))))
						return x < end ? remember(memo, f, x)
							       : remain(memo, (struct ht_frame *)f);
					known = first_intact(memo, f);
				}
				rule = f->rule;
				f--;
			}
		}
		if (ht_unlikely(x == end - HT_LOOSE_MAX))
			goto uncommon;
		x--;
		x->pc = pc;
		x->sp = sp;
		x->fp = fp;
		x->rule = rule;

		u32 type = HT_RULE_TYPE(rule);
		if (ht_likely(type == HT_R_SP)) {
			cfa = sp + HT_RULE_OFFSET(rule);
		} else if (type == HT_R_FP) {
			cfa = fp + HT_RULE_OFFSET(rule);
		} else {
			u64 at = fp + HT_RULE_OFFSET(rule);
			if (type != HT_R_LOAD_FP || at - low > room)
				goto uncommon;
			cfa = *(const u64 *)at;
		}
		if (ht_unlikely(cfa >= limit)) {
			pass_loose(memo, &f, &last, &limit);
			if (cfa > limit)
				goto uncommon;
		}
		if (ht_unlikely(cfa < sp + 8))
			goto uncommon;
		if (!HT_RULE_FP_STAYS(rule)) {
			u64 at = (HT_RULE_FP(rule) == HT_FP_AT_CFA ? cfa : fp) + HT_RULE_FP_OFFSET(rule);
			if (ht_unlikely(at - low > room))
				goto uncommon;
			fp = *(const u64 *)at;
		}
		pc = *(const u64 *)(cfa - 8);
		sp = cfa;
		if (ht_unlikely(!pc))
			goto uncommon;
	}
uncommon:
	if (x < end)
		pc = end[-1].pc, sp = end[-1].sp, fp = end[-1].fp;
	return ht_unwind(memo, pc, sp, fp);
}
