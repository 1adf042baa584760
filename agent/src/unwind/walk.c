// SPDX-License-Identifier: Apache-2.0
//
// walk.c: the common case of unwind.c, with as few instructions as possible.
//
// The common case: the thread's own stack; frames that are found from sp or fp; and after a few of them a remembered
// one, from which on everything is unchanged. All other cases are left to ht_unwind, which starts again from the leaf.
//
// Most of the frames that a walk finds at the top of the stack are gone at the next event. So they are not settled in
// the memo at once. They stay where the walk has put them, "loose", without checks and hashes, in one of two buffers:
// root first, the leaf in the last element, and before them an element with the sp of the frame where they begin. The
// next walk compares with them as with settled frames. If it meets one of them, that one and the outer ones are
// settled, as if that had been done at once; if it passes them, they are dropped.

#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize", "omit-frame-pointer")
#endif

#include "base/state.h"
#include "unwind/cct.h"
#include "unwind/memo.h"
#include "unwind/modules.h"
#include "unwind/rules.h"

// Returns the outermost of the frames from f on that are unchanged, although not all below f are.
static HT_NOINLINE const struct ht_frame *first_intact(const struct ht_memo *memo, const struct ht_frame *f)
{
	i32 check = ht_find_mismatch(memo->checks, HT_CHECKS(f));
	while (f > memo->frames && (i32)HT_CHECKS(f - 1) > check)
		f--;
	return f;
}

// All frames that the walk has found are new: remembers them. `met` is the innermost frame that was kept.
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
	// A stack that is new; or ht_unwind must be used.
	if (ht_settle_loose(memo, end - 1) < 0)
		return 0;
	node = ht_make_path(memo->frames, memo->depth - 1, 0);
	memo->top = &memo->frames[memo->depth - 1];
	if (memo->top->node && !ht_in_loader(memo->top->pc))
		memo->leaf = memo->top;
	return node;
}

// The leaf has not moved, and its node is known or will be.
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

// Advances to the next loose frame if this one lies below sp, without a branch, which could not be predicted. One step
// may be too few: then we miss a loose frame that we could have met, but not the one where they begin.
HT_INLINE const struct ht_frame *pass_below(const struct ht_frame *f, u64 sp)
{
	u64 step = f->sp < sp ? sizeof(*f) : 0;
	__asm__("" : "+r"(step)); // otherwise the compiler makes a branch of it
	return (const struct ht_frame *)((u64)f - step);
}

HT_INLINE int stands_at(const struct ht_frame *f, u64 pc, u64 sp)
{
	return ((f->sp ^ sp) | (f->pc ^ pc)) == 0; // one branch, because frames often lie where others were
}

// The position of a walk, and what it may read.
struct going {
	u64 pc, sp, fp;
	struct ht_frame *x; // the frame found last
	const struct ht_frame *first; // the buffer ends here
	u64 low, room; // the thread's own stack: its first byte, and the number of bytes at which a word may begin
	u64 limit; // sp of the outermost remembered frame
};

// Steps one frame up by the rule. Returns 0, or -1 if that is not a common case.
HT_INLINE int climb(struct going *g, u64 rule)
{
	u64 cfa;
	u32 type = HT_RULE_TYPE(rule);
	if (ht_unlikely(g->x == g->first))
		return -1;
	struct ht_frame *x = --g->x;
	x->pc = g->pc;
	x->sp = g->sp;
	x->fp = g->fp;
	x->rule = rule;

	if (ht_likely(type == HT_R_SP)) {
		cfa = g->sp + HT_RULE_OFFSET(rule);
	} else if (type == HT_R_FP) {
		cfa = g->fp + HT_RULE_OFFSET(rule);
	} else {
		u64 at = g->fp + HT_RULE_OFFSET(rule);
		if (type != HT_R_LOAD_FP || at - g->low > g->room)
			return -1;
		cfa = *(const u64 *)at;
	}
	if (ht_unlikely(cfa > g->limit) || ht_unlikely(cfa < g->sp + 8))
		return -1;
	if (!HT_RULE_FP_STAYS(rule)) {
		u64 at = (HT_RULE_FP(rule) == HT_FP_AT_CFA ? cfa : g->fp) + HT_RULE_FP_OFFSET(rule);
		if (ht_unlikely(at - g->low > g->room))
			return -1;
		g->fp = *(const u64 *)at;
	}
	g->pc = *(const u64 *)(cfa - 8);
	g->sp = cfa;
	return ht_likely(g->pc != 0) ? 0 : -1;
}

HT_NOINLINE u32 ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	const struct ht_frame *f = memo->top; // the remembered frame that we may meet next
	const struct ht_frame *known = (const struct ht_frame *)~0ull; // from f down to this one, all are unchanged
	struct ht_frame *end = ht_spare_end(memo);
	struct ht_rule_view rules = ht_rule_view();
	u64 low = memo->low, rule;

	if (ht_unlikely(!f || memo->generation != ht_load_acquire(&ht_state->generation) || sp < low))
		return ht_unwind(memo, pc, sp, fp);
	memo->leaf = 0;
	memo->top = 0;
	HT_FENCE();
	// As long as sp is not above the outermost frame's, no search runs beyond that frame, and everything that is
	// read below it is on the thread's own stack.
	struct going g = {pc, sp, fp, end, end - HT_LOOSE_MAX, low, memo->high - 8 - low, memo->frames->sp};
	if (ht_unlikely(sp > g.limit))
		goto uncommon;
	if (memo->loose) {
		u64 begin = (memo->loose_end - memo->loose - 1)->sp;
		while (g.sp < begin) {
			f = pass_below(f, g.sp);
			if (stands_at(f, g.pc, g.sp)) {
				if (ht_settle_loose(memo, f) < 0)
					goto uncommon;
				break;
			}
			if (climb(&g, ht_rule_see(&rules, memo, g.pc)) < 0)
				goto uncommon;
		}
		f = &memo->frames[memo->depth - 1];
	}
	for (;;) {
		while (f->sp < g.sp)
			f--;
		if (stands_at(f, g.pc, g.sp) && !(f->checks & HT_FP_LIVE && f->fp != g.fp)) {
			if (f < known) {
				if (ht_likely(ht_all_hold(memo->checks, HT_CHECKS(f))))
					break;
				known = first_intact(memo, f);
			}
			rule = f->rule;
			f--;
		} else {
			rule = ht_rule_see(&rules, memo, g.pc);
		}
		if (climb(&g, rule) < 0)
			goto uncommon;
	}
	if (g.x == end)
		return remain(memo, (struct ht_frame *)f);
	if (ht_likely(ht_load(&ht_rule_table) == rules.word)) {
		u32 node = remember(memo, f, g.x);
		if (ht_likely(node != 0))
			return node;
	}
uncommon:
	return ht_unwind(memo, pc, sp, fp);
}
