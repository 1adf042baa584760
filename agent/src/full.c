// SPDX-License-Identifier: Apache-2.0
//
// full.c: slow, exact steps with all registers that a call preserves.
//
// The target's registers at its call of malloc are still in our own registers or saved in our own frames. So the walk starts
// right here and first unwinds the agent's functions by the agent's own call frame information.

#include "full.h"
#include "frames.h"
#include "rules.h"

#define OWN_FRAMES_MAX 64
#define FRAMES_MAX (1u << 20)

static int load_signal_frame(u64 *regs, u64 low, u64 high)
{
	u64 at = regs[HT_REG_SP];
	if (at < low || at >= high || high - at < HT_UCONTEXT_SIZE)
		return -1;
	for (u32 i = 0; i < HT_REGS; i++)
		regs[ht_ucontext_order[i]] = ((const u64 *)(at + HT_UCONTEXT_REGS))[i];
	return 0;
}

static int load_chain(u64 rule, u64 *regs, u64 low, u64 high)
{
	u64 fp = regs[HT_REG_FP];
	if (!fp)
		return HT_RULE_FP(rule) == HT_FP_NO_CODE ? -1 : 1;
	if (fp & 7 || fp < low || fp >= high || high - fp < 16 || fp < regs[HT_REG_SP])
		return -1;
	regs[HT_REG_FP] = ((const u64 *)fp)[0];
	regs[HT_REG_PC] = ((const u64 *)fp)[1];
	regs[HT_REG_SP] = fp + 16;
	return 0;
}

// One frame up. 0, 1 at the end, -1 if it cannot be done.
static int step(struct ht_memo *memo, struct ht_full *f)
{
	struct ht_scratch *s = memo->scratch;
	u64 *regs = s->registers, pc = regs[HT_REG_PC];
	u64 rule = ht_rule_get(memo, pc | f->interrupted);
	u64 at = f->interrupted ? pc : pc - 1;
	struct ht_bounds b;
	const struct ht_loaded *l;
	int found;

	if ((f->interrupted ? ht_bounds_find_interrupted : ht_bounds_find)(memo, regs[HT_REG_SP], &b) < 0)
		return -1;
	f->interrupted = 0;
	switch (HT_RULE_TYPE(rule)) {
	case HT_R_BAD:
		return -1;
	case HT_R_END:
		return 1;
	case HT_R_SIGNAL:
		f->interrupted = HT_PC_INTERRUPTED;
		return load_signal_frame(regs, b.low, b.high);
	case HT_R_CHAIN:
		return load_chain(rule, regs, b.low, b.high);
	}
	l = ht_module_of(at, s->buffer);
	if (l)
		s->text = l->cfi;
	else if (!ht_frames_at(at, &s->text))
		return -1;
	if (ht_cfi_find(&s->text, at, &s->cfi) != HT_CFI_OK)
		return -1;
	found = ht_cfi_step(&s->text, &s->cfi, regs, b.low, b.high);
	// Registers that are kept elsewhere than on the stack, as setcontext's are in the context.
	if (found == HT_CFI_BAD && !s->cfi.row.cfa_is_expression &&
	    ht_bounds_find(memo, regs[s->cfi.row.cfa_register], &b) == 0)
		found = ht_cfi_step(&s->text, &s->cfi, regs, b.low, b.high);
	if (found != HT_CFI_OK)
		return found == HT_CFI_NONE ? 1 : -1;
	if (s->cfi.signal)
		f->interrupted = HT_PC_INTERRUPTED;
	return 0;
}

static int reach(struct ht_memo *memo, struct ht_full *f, u64 pc, u64 sp, u32 most)
{
	const u64 *regs = ((struct ht_scratch *)memo->scratch)->registers;
	for (u32 i = 0; i < most; i++) {
		if ((regs[HT_REG_PC] | f->interrupted) == pc && regs[HT_REG_SP] == sp)
			return 0;
		if (step(memo, f) != 0)
			return -1;
	}
	return -1;
}

HT_NOINLINE int ht_full_step(struct ht_memo *memo, struct ht_full *f, u64 *pc, u64 *sp, u64 *fp)
{
	struct ht_scratch *s = ht_scratch_of(memo);
	int r;

	if (!s)
		return -1;
	if (!f->started) {
		ht_count(HT_C_FULL_STEPS);
		ht_registers_here(s->registers);
		// This very instruction is at, not before, the program counter.
		f->interrupted = HT_PC_INTERRUPTED;
		if (reach(memo, f, f->leaf_pc, f->leaf_sp, OWN_FRAMES_MAX) < 0)
			return -1;
		f->started = 1;
	}
	if (reach(memo, f, *pc, *sp, FRAMES_MAX) < 0) {
		f->started = 0;
		return -1;
	}
	r = step(memo, f);
	*pc = s->registers[HT_REG_PC] | f->interrupted;
	*sp = s->registers[HT_REG_SP];
	*fp = s->registers[HT_REG_FP];
	return r;
}
