// SPDX-License-Identifier: Apache-2.0
//
// settle.c: settles the frames that a walk has found: stores them in the memo, with their checks and their nodes of the
// calling-context tree.

#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize", "omit-frame-pointer")
#endif

#include "spool/arrays.h"
#include "unwind/cct.h"
#include "unwind/complex.h"
#include "unwind/deep.h"
#include "unwind/memo.h"
#include "unwind/rules.h"

HT_INLINE u32 add(struct ht_check_pair *c, u32 n, const u64 *at, u64 value)
{
	HT_CHECK_AT(c, n) = at;
	HT_CHECK_VALUE(c, n) = value;
	return n + 1;
}

// Appends the checks of one frame, whose caller is `up`, and determines whether its fp is live.
static HT_NOINLINE u32 add_checks_uncommon(const struct ht_memo *memo, u32 n, const struct ht_frame *f,
					   const struct ht_frame *up, u32 *live)
{
	struct ht_check_pair *c = memo->checks;
	const struct ht_complex *complex;
	u64 up_pc = up->pc & ~HT_PC_INTERRUPTED;
	switch (HT_RULE_TYPE(f->rule)) {
	case HT_R_SIGNAL:
		n = add(c, n, (const u64 *)(f->sp + HT_UCONTEXT_PC), up_pc);
		n = add(c, n, (const u64 *)(f->sp + HT_UCONTEXT_SP), up->sp);
		if (*live) {
			n = add(c, n, (const u64 *)(f->sp + HT_UCONTEXT_FP), up->fp);
		}
		*live = 0;
		break;
	case HT_R_CHAIN:
		if (f->fp) {
			n = add(c, n, (const u64 *)f->fp, up->fp);
			n = add(c, n, (const u64 *)f->fp + 1, up_pc);
		}
		*live = HT_FP_LIVE;
		break;
	case HT_R_COMPLEX:
		complex = ht_complex_at(memo, (u32)(f - memo->frames));
		for (u32 i = 0; complex && i < HT_FULL_CELLS; i++)
			if (complex->needs.cells[i])
				n = add(c, n, (const u64 *)complex->needs.cells[i],
					*(const u64 *)complex->needs.cells[i]);
		*live = HT_FP_LIVE;
		break;
	default: // the end of the stack, or a frame that cannot be remembered
		*live = 0;
	}
	return n;
}

void ht_settle(struct ht_memo *memo, u32 base, const struct ht_frame *new, u32 count, const struct ht_frame *up,
	       u32 flag)
{
	struct ht_check_pair *checks = memo->checks;
	struct ht_frame *f = &memo->frames[base];
	if (base)
		up = f - 1;
	u32 n = HT_CHECKS(up), live = up->checks & HT_FP_LIVE;
	u64 hash = up->hash;

	for (u32 i = count; i > 0; i--, new ++, up = f++) {
		u64 rule = new->rule, pc = new->pc, sp = new->sp, fp = new->fp;
		u32 type = HT_RULE_TYPE(rule), where = HT_RULE_FP(rule);
		f->pc = pc;
		f->sp = sp;
		f->fp = fp;
		f->rule = rule;
		f->hash = hash = ht_cct_hash(hash, HT_RULE_PC_ID(rule) | flag);
		flag = 0;
		f->node = 0;
		if (ht_likely(type - HT_R_SP <= HT_R_LOAD_FP - HT_R_SP)) {
			u64 cfa = up->sp;
			if (where != HT_FP_SAME && live) {
				n = add(checks, n,
					(const u64 *)((where == HT_FP_AT_CFA ? cfa : fp) + HT_RULE_FP_OFFSET(rule)),
					up->fp);
			}
			if (type == HT_R_LOAD_FP) {
				n = add(checks, n, (const u64 *)(fp + HT_RULE_OFFSET(rule)), cfa);
			}
			n = add(checks, n, (const u64 *)(cfa - 8), up->pc); // a return address: no flag
			live = type != HT_R_SP || where == HT_FP_AT_FP ? HT_FP_LIVE : where == HT_FP_SAME ? live : 0;
		} else {
			n = add_checks_uncommon(memo, n, f, up, &live);
		}
		f->checks = n | live;
	}
}

HT_NOINLINE u32 ht_make_path(struct ht_frame *frames, u32 leaf, u32 flag)
{
	u32 i = leaf, parent = 0;
	while (i > 0 && !frames[i - 1].node && !(frames[i - 1].node = ht_cct_find(frames[i - 1].hash)))
		i--;
	if (i > 0)
		parent = frames[i - 1].node;
	for (; i <= leaf; i++) {
		u32 id = HT_RULE_PC_ID(frames[i].rule), node;
		if (!id) {
			ht_count(HT_C_TABLE_FULL);
			return parent;
		}
		node = ht_cct_insert(frames[i].hash, parent, i == 0 ? id | flag : id);
		if (!node)
			return parent;
		frames[i].node = parent = node;
	}
	return parent;
}

HT_NOINLINE int ht_settle_loose(struct ht_memo *memo, const struct ht_frame *innermost)
{
	const struct ht_frame *new = memo->loose_end - memo->loose;
	u32 n = (u32)(innermost + 1 - new), base = memo->depth;

	memo->leaf = 0;
	memo->top = 0;
	memo->loose = 0;
	HT_FENCE();
	if (ht_unlikely(base + n > memo->near_capacity)) {
		if (base + n > HT_NEAR)
			return -1;
		if (ht_memo_more_frames(memo, 0) < 0)
			goto none;
	}
	// At most three checks a frame.
	u32 checks = HT_CHECKS(&memo->frames[base - 1]) + 3 * n;
	if (ht_unlikely(checks > memo->check_capacity) && ht_memo_more_checks(memo, checks) < 0)
		goto none;
	ht_settle(memo, base, new, n, 0, 0);
	memo->frames[base + n - 1].node = innermost->node; // the leaf's node is known, all others' are 0
	HT_FENCE();
	memo->depth = base + n;
	return 0;
none:
	ht_count(HT_C_TABLE_FULL);
	ht_memo_forget(memo);
	return -1;
}
