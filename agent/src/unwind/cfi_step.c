// SPDX-License-Identifier: Apache-2.0
//
// cfi_step.c: DWARF expressions, and steps of all registers by a row of call frame information.

#include "unwind/cfi.h"

#define MAX_STEPS 1000

static struct ht_reader expression_at(const struct ht_cfi_text *text, u64 at)
{
	struct ht_reader r = {at, text->high, at < text->low || at >= text->high};
	u64 size = ht_read_uleb(&r);
	if (r.bad || r.end - r.p < size)
		r.bad = 1;
	else
		r.end = r.p + size;
	return r;
}

static int load(u64 at, u32 size, u64 low, u64 high, u64 *v)
{
	if (at < low || at >= high || high - at < size)
		return -1;
	*v = 0;
	__builtin_memcpy(v, (const void *)at, size);
	return 0;
}

// Constants: DW_OP_addr, const1u .. consts, lit0 .. lit31. 1 if op is none.
static int constant(struct ht_reader *r, u8 op, u64 *v)
{
	switch (op) {
	case 0x03: // addr
	case 0x0e: // const8u, const8s
	case 0x0f:
		*v = ht_read_fixed(r, 8);
		return 0;
	case 0x08:
		*v = ht_read_fixed(r, 1);
		return 0;
	case 0x09:
		*v = (u64)(i64)(int8_t)ht_read_fixed(r, 1);
		return 0;
	case 0x0a:
		*v = ht_read_fixed(r, 2);
		return 0;
	case 0x0b:
		*v = (u64)(i64)(int16_t)ht_read_fixed(r, 2);
		return 0;
	case 0x0c:
		*v = ht_read_fixed(r, 4);
		return 0;
	case 0x0d:
		*v = (u64)(i64)(i32)ht_read_fixed(r, 4);
		return 0;
	case 0x10:
		*v = ht_read_uleb(r);
		return 0;
	case 0x11:
		*v = (u64)ht_read_sleb(r);
		return 0;
	}
	if (op >= 0x30 && op <= 0x4f) {
		*v = op - 0x30u;
		return 0;
	}
	return 1;
}

// Operations on the two topmost values: a below b.
static int binary(u8 op, u64 a, u64 b, u64 *v)
{
	i64 sa = (i64)a, sb = (i64)b;
	switch (op) {
	case 0x1a:
		*v = a & b;
		return 0;
	case 0x1b: // div, signed
		if (!b || (b == ~0ull && a == 1ull << 63))
			return -1;
		*v = (u64)(sa / sb);
		return 0;
	case 0x1c:
		*v = a - b;
		return 0;
	case 0x1d: // mod
		if (!b)
			return -1;
		*v = a % b;
		return 0;
	case 0x1e:
		*v = a * b;
		return 0;
	case 0x21:
		*v = a | b;
		return 0;
	case 0x22:
		*v = a + b;
		return 0;
	case 0x24:
		*v = b < 64 ? a << b : 0;
		return 0;
	case 0x25:
		*v = b < 64 ? a >> b : 0;
		return 0;
	case 0x26:
		*v = (u64)(sa >> (b < 64 ? b : 63));
		return 0;
	case 0x27:
		*v = a ^ b;
		return 0;
	case 0x29:
		*v = sa == sb;
		return 0;
	case 0x2a:
		*v = sa >= sb;
		return 0;
	case 0x2b:
		*v = sa > sb;
		return 0;
	case 0x2c:
		*v = sa <= sb;
		return 0;
	case 0x2d:
		*v = sa < sb;
		return 0;
	case 0x2e:
		*v = sa != sb;
		return 0;
	}
	return 1;
}

int ht_cfi_evaluate(const struct ht_cfi_text *text, u64 expression, const u64 regs[HT_REGS], const u64 *initial,
		    u64 *stack, u64 low, u64 high, u64 *result)
{
	struct ht_reader r = expression_at(text, expression);
	u64 begin = r.p, reg, v = 0;
	u32 n = 0;

	if (initial)
		stack[n++] = *initial;
	for (u32 steps = 0; r.p < r.end && !r.bad; steps++) {
		u8 op = (u8)ht_read_fixed(&r, 1);
		if (steps == MAX_STEPS || n + 1 >= HT_CFI_STACK)
			return -1;
		if (constant(&r, op, &v) == 0) {
			stack[n++] = v;
			continue;
		}
		if ((op >= 0x50 && op <= 0x8f) || op == 0x90 || op == 0x92) { // reg, breg, regx, bregx
			i64 offset = 0;
			reg = op >= 0x90 ? ht_read_uleb(&r) : op >= 0x70 ? op - 0x70u : op - 0x50u;
			if (op >= 0x70 && op != 0x90)
				offset = ht_read_sleb(&r);
			if (reg >= HT_REGS)
				return -1;
			stack[n++] = regs[reg] + (u64)offset;
			continue;
		}
		if ((op >= 0x1a && op <= 0x1e) || op == 0x21 || op == 0x22 || (op >= 0x24 && op <= 0x27) ||
		    (op >= 0x29 && op <= 0x2e)) {
			if (n < 2 || binary(op, stack[n - 2], stack[n - 1], &stack[n - 2]) != 0)
				return -1;
			n--;
			continue;
		}
		switch (op) {
		case 0x2f: // skip
		case 0x28: { // bra
			i64 offset = (int16_t)ht_read_fixed(&r, 2);
			if (op == 0x28 && (n < 1 || stack[--n] == 0))
				break;
			if (offset < 0 ? (u64)-offset > r.p - begin : (u64)offset > r.end - r.p)
				return -1;
			r.p += (u64)offset;
			break;
		}
		case 0x14: // over
		case 0x15: // pick
			reg = op == 0x14 ? 1 : ht_read_fixed(&r, 1);
			if (reg >= n)
				return -1;
			stack[n] = stack[n - 1 - reg];
			n++;
			break;
		case 0x16: // swap
			if (n < 2)
				return -1;
			v = stack[n - 1], stack[n - 1] = stack[n - 2], stack[n - 2] = v;
			break;
		case 0x17: // rot
			if (n < 3)
				return -1;
			v = stack[n - 1], stack[n - 1] = stack[n - 2], stack[n - 2] = stack[n - 3], stack[n - 3] = v;
			break;
		case 0x96: // nop
			break;
		default:
			if (n < 1)
				return -1;
			switch (op) {
			case 0x06: // deref, deref_size
			case 0x94:
				v = op == 0x06 ? 8 : ht_read_fixed(&r, 1);
				if (v < 1 || v > 8 || load(stack[n - 1], (u32)v, low, high, &stack[n - 1]) < 0)
					return -1;
				break;
			case 0x12: // dup
				stack[n] = stack[n - 1];
				n++;
				break;
			case 0x13: // drop
				n--;
				break;
			case 0x19: // abs
				if ((i64)stack[n - 1] < 0)
					stack[n - 1] = 0 - stack[n - 1];
				break;
			case 0x1f: // neg
				stack[n - 1] = 0 - stack[n - 1];
				break;
			case 0x20: // not
				stack[n - 1] = ~stack[n - 1];
				break;
			case 0x23: // plus_uconst
				stack[n - 1] += ht_read_uleb(&r);
				break;
			default:
				return -1;
			}
		}
	}
	if (r.bad || !n)
		return -1;
	*result = stack[n - 1];
	return 0;
}

int ht_cfi_fold(const struct ht_cfi_text *text, u64 expression, u64 pc, struct ht_cfi_folded *out)
{
	struct ht_reader r = expression_at(text, expression);
	struct ht_cfi_folded stack[4];
	u32 n = 0;
	u64 v;

	while (r.p < r.end && !r.bad) {
		u8 op = (u8)ht_read_fixed(&r, 1);
		if (constant(&r, op, &v) == 0) {
			if (n == 4)
				return -1;
			stack[n++] = (struct ht_cfi_folded){(i64)v, -1, 0};
		} else if (op >= 0x70 && op <= 0x8f) { // breg
			if (n == 4)
				return -1;
			v = (u64)ht_read_sleb(&r);
			if (op - 0x70 == HT_REG_PC)
				stack[n++] = (struct ht_cfi_folded){(i64)(v + pc), -1, 0};
			else
				stack[n++] = (struct ht_cfi_folded){(i64)v, op - 0x70, 0};
		} else if (op == 0x06 || op == 0x23) { // deref, plus_uconst
			if (n < 1 || stack[n - 1].load)
				return -1;
			if (op == 0x06)
				stack[n - 1].load = 1;
			else
				stack[n - 1].offset = (i64)((u64)stack[n - 1].offset + ht_read_uleb(&r));
		} else {
			if (n < 2)
				return -1;
			struct ht_cfi_folded *a = &stack[n - 2], *b = &stack[n - 1];
			if (a->load || b->load || b->reg >= 0 || (a->reg >= 0 && op != 0x22))
				return -1;
			if (binary(op, (u64)a->offset, (u64)b->offset, &v) != 0)
				return -1;
			a->offset = (i64)v;
			n--;
		}
	}
	if (r.bad || n != 1)
		return -1;
	*out = stack[0];
	return 0;
}

// Computes the caller's value of one register.
static int step_register(const struct ht_cfi_text *text, struct ht_cfi_work *w, const u64 regs[HT_REGS], u32 i, u64 cfa,
			 u64 low, u64 high)
{
	const struct ht_cfi_register *how = &w->row.registers[i];
	u64 at = cfa + (u64)how->value;

	switch (how->how) {
	case HT_CFI_SAME:
	case HT_CFI_UNDEFINED:
		w->next[i] = i == HT_REG_SP ? cfa : regs[i];
		return 0;
	case HT_CFI_AT_CFA:
		return load(at, 8, low, high, &w->next[i]);
	case HT_CFI_IS_CFA:
		w->next[i] = at;
		return 0;
	case HT_CFI_REGISTER:
		if ((u64)how->value >= HT_REGS)
			return -1;
		w->next[i] = regs[how->value];
		return 0;
	case HT_CFI_AT_EXPRESSION:
		if (ht_cfi_evaluate(text, (u64)how->value, regs, &cfa, w->stack, low, high, &at) < 0)
			return -1;
		return load(at, 8, low, high, &w->next[i]);
	case HT_CFI_IS_EXPRESSION:
		return ht_cfi_evaluate(text, (u64)how->value, regs, &cfa, w->stack, low, high, &w->next[i]);
	}
	return -1;
}

int ht_cfi_step(const struct ht_cfi_text *text, struct ht_cfi_work *w, u64 regs[HT_REGS], u64 low, u64 high)
{
	const struct ht_cfi_row *row = &w->row;
	u64 cfa;

	if (row->registers[HT_REG_PC].how == HT_CFI_UNDEFINED)
		return HT_CFI_NONE;
	if (!row->cfa_is_expression)
		cfa = regs[row->cfa_register] + (u64)row->cfa_value;
	else if (ht_cfi_evaluate(text, (u64)row->cfa_value, regs, 0, w->stack, low, high, &cfa) < 0)
		return HT_CFI_BAD;
	for (u32 i = 0; i < HT_REGS; i++)
		if (step_register(text, w, regs, i, cfa, low, high) < 0)
			return HT_CFI_BAD;
	__builtin_memcpy(regs, w->next, sizeof(w->next));
	return HT_CFI_OK;
}
