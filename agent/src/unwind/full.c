// SPDX-License-Identifier: Apache-2.0
//
// full.c: slow, exact steps with all call-preserved registers.
//
// The target's registers at its call of malloc are still in the registers, or saved in the agent's frames. So the walk
// starts here, and first unwinds the agent's functions by the agent's own call frame information.

#include "unwind/full.h"
#include "spool/arrays.h"
#include "unwind/frames.h"
#include "unwind/rules.h"

#define OWN_FRAMES_MAX 64
#define FRAMES_MAX (1u << 20)

static const u8 kept_registers[HT_KEPT] = {3, 12, 13, 14, 15};

// Returns the number of a register among those, or -1.
static int kept_index(u64 reg)
{
	for (int i = 0; i < HT_KEPT; i++)
		if (kept_registers[i] == reg)
			return i;
	return -1;
}

// Notes where that step found the registers of the caller.
static HT_NOINLINE void note_kept(struct ht_scratch *s)
{
	u64 cfa = s->cfi.row.registers[HT_REG_SP].how == HT_CFI_SAME ? s->registers[HT_REG_SP] : 0;
	for (u32 i = 0; i < HT_KEPT; i++) {
		const struct ht_cfi_register *r = &s->cfi.row.registers[kept_registers[i]];
		if (r->how == HT_CFI_SAME || r->how == HT_CFI_UNDEFINED)
			continue;
		s->kept[i].at = r->how == HT_CFI_AT_CFA && cfa ? cfa + (u64)r->value : ~0ull;
		s->kept[i].sp = s->before[HT_REG_SP];
	}
}

static void need(struct ht_full_needs *n, u64 reg)
{
	int i = kept_index(reg);
	if (i >= 0)
		n->registers |= 1u << i;
	else if (reg != HT_REG_SP && reg != HT_REG_FP)
		n->unknown = 1;
}

// Adds the needs of an expression that ht_cfi_fold can reduce. `loads`: it may end with a read of memory.
static u64 need_expression(const struct ht_scratch *s, struct ht_full_needs *n, const u64 *regs, i64 expression, u64 pc,
			   int loads)
{
	struct ht_cfi_folded e;
	if (ht_cfi_fold(&s->text, (u64)expression, pc, &e) < 0 || e.reg < 0 || (e.load && !loads)) {
		n->unknown = 1;
		return 0;
	}
	need(n, (u64)e.reg);
	return loads && !e.load ? 0 : regs[e.reg] + (u64)e.offset;
}

// Finds what the step by s->cfi.row from s->before to s->registers depended on.
static HT_NOINLINE void find_needs(struct ht_scratch *s)
{
	static const u8 wanted[2] = {HT_REG_PC, HT_REG_FP};
	const struct ht_cfi_row *row = &s->cfi.row;
	const u64 *regs = s->before, cfa = s->registers[HT_REG_SP], pc = regs[HT_REG_PC];
	struct ht_full_needs *n = &s->needs;
	__builtin_memset(n, 0, sizeof(*n));
	n->unknown = row->registers[HT_REG_SP].how != HT_CFI_SAME;
	for (u32 i = 0; i < HT_KEPT; i++) {
		n->values[i] = regs[kept_registers[i]];
		n->kept[i] = s->kept[i];
	}
	if (row->cfa_is_expression)
		n->cells[2] = need_expression(s, n, regs, row->cfa_value, pc, 1);
	else
		need(n, row->cfa_register);
	for (u32 i = 0; i < 2; i++) {
		const struct ht_cfi_register *r = &row->registers[wanted[i]];
		switch (r->how) {
		case HT_CFI_SAME:
		case HT_CFI_UNDEFINED:
		case HT_CFI_IS_CFA:
			break;
		case HT_CFI_AT_CFA:
			n->cells[i] = cfa + (u64)r->value;
			break;
		case HT_CFI_REGISTER:
			need(n, (u64)r->value);
			break;
		case HT_CFI_AT_EXPRESSION:
			n->cells[i] = need_expression(s, n, regs, r->value, pc, 0);
			break;
		default:
			n->unknown = 1;
		}
	}
}

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

// Steps one frame up by the rule of code at `at`, within s->bounds. If it fails, the registers have not changed; the
// bounds may have.
static int step_within(struct ht_memo *memo, struct ht_full *f, u64 rule, u64 at, int with_needs)
{
	struct ht_scratch *s = memo->scratch;
	struct ht_bounds *b = &s->bounds;
	u64 *regs = s->registers;
	const struct ht_loaded *l;
	int found;

	switch (HT_RULE_TYPE(rule)) {
	case HT_R_BAD:
		return -1;
	case HT_R_END:
		return 1;
	case HT_R_SIGNAL:
		if (load_signal_frame(regs, b->low, b->high) < 0)
			return -1;
		f->interrupted = HT_PC_INTERRUPTED;
		for (u32 i = 0; i < HT_KEPT; i++)
			s->kept[i].at = ~0ull;
		return 0;
	case HT_R_CHAIN:
		return load_chain(rule, regs, b->low, b->high);
	}
	l = ht_module_of(at, s->buffer);
	if (l)
		s->text = l->cfi;
	else if (!ht_frames_at(at, &s->text))
		return -1;
	if (ht_cfi_find(&s->text, at, &s->cfi) != HT_CFI_OK)
		return -1;
	__builtin_memcpy(s->before, regs, sizeof(s->before));
	found = ht_cfi_step(&s->text, &s->cfi, regs, b->low, b->high);
	// Registers that are kept elsewhere than on the stack, for example setcontext's, which are in the context.
	if (found == HT_CFI_BAD && !s->cfi.row.cfa_is_expression &&
	    ht_bounds_find(memo, regs[s->cfi.row.cfa_register], b) == 0)
		found = ht_cfi_step(&s->text, &s->cfi, regs, b->low, b->high);
	if (found != HT_CFI_OK)
		return found == HT_CFI_NONE ? 1 : -1;
	if (with_needs)
		find_needs(s);
	note_kept(s);
	if (s->cfi.signal)
		f->interrupted = HT_PC_INTERRUPTED;
	return 0;
}

// Steps one frame up. with_needs: sets s->needs to what the step depends on. Returns 0, 1 at the end of the stack, -1
// on failure.
static int step(struct ht_memo *memo, struct ht_full *f, int with_needs)
{
	struct ht_scratch *s = memo->scratch;
	u64 pc = s->registers[HT_REG_PC], sp = s->registers[HT_REG_SP];
	u64 rule = ht_rule_get(memo, pc | f->interrupted);
	u64 at = f->interrupted ? pc : pc - 1;

	if ((f->interrupted ? ht_bounds_find_interrupted : ht_bounds_find)(memo, sp, &s->bounds) < 0)
		return -1;
	f->interrupted = 0;
	s->needs.unknown = 1;
	int r = step_within(memo, f, rule, at, with_needs);
	if (r < 0 && ht_bounds_find(memo, sp, &s->bounds) == 0 && ht_bounds_renew(memo, sp, &s->bounds) == 0)
		r = step_within(memo, f, rule, at, with_needs);
	return r;
}

static int reach(struct ht_memo *memo, struct ht_full *f, u64 pc, u64 sp, u32 most)
{
	const u64 *regs = ((struct ht_scratch *)memo->scratch)->registers;
	for (u32 i = 0; i < most; i++) {
		if ((regs[HT_REG_PC] | f->interrupted) == pc && regs[HT_REG_SP] == sp)
			return 0;
		if (step(memo, f, 0) != 0)
			return -1;
	}
	return -1;
}

HT_INLINE int reach_from_leaf(struct ht_memo *memo, struct ht_full *f, u64 pc, u64 sp)
{
	struct ht_scratch *s = ht_scratch_of(memo);

	if (!s)
		return -1;
	if (!f->started) {
		ht_count(HT_C_FULL_STEPS);
		ht_registers_here(s->registers);
		__builtin_memset(s->kept, 0, sizeof(s->kept));
		// This instruction is at the program counter, not before it.
		f->interrupted = HT_PC_INTERRUPTED;
		if (reach(memo, f, f->leaf_pc, f->leaf_sp, OWN_FRAMES_MAX) < 0)
			return -1;
		f->started = 1;
	}
	if (reach(memo, f, pc, sp, FRAMES_MAX) < 0) {
		f->started = 0;
		return -1;
	}
	return 0;
}

HT_NOINLINE int ht_full_reach(struct ht_memo *memo, struct ht_full *f, u64 pc, u64 sp)
{
	return reach_from_leaf(memo, f, pc, sp);
}

HT_NOINLINE int ht_full_step(struct ht_memo *memo, struct ht_full *f, u64 *pc, u64 *sp, u64 *fp)
{
	if (reach_from_leaf(memo, f, *pc, *sp) < 0)
		return -1;
	int r = step(memo, f, 1);
	const u64 *regs = ((struct ht_scratch *)memo->scratch)->registers;
	*pc = regs[HT_REG_PC] | f->interrupted;
	*sp = regs[HT_REG_SP];
	*fp = regs[HT_REG_FP];
	return r;
}

u64 ht_full_register(const struct ht_memo *memo, u32 i)
{
	return ((const struct ht_scratch *)memo->scratch)->registers[kept_registers[i]];
}

struct ht_kept ht_full_kept(const struct ht_memo *memo, u32 i)
{
	return ((const struct ht_scratch *)memo->scratch)->kept[i];
}
