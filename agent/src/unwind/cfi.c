// SPDX-License-Identifier: Apache-2.0
//
// cfi.c: executes the instructions of call frame information, DWARF 5 section 6.4.2, to find the row of an address.

#include "unwind/cfi.h"

static void set(struct ht_cfi_run *x, u64 reg, u8 how, i64 value)
{
	if (reg < HT_REGS)
		x->w->row.registers[reg] = (struct ht_cfi_register){value, how};
}

static void restore(struct ht_cfi_run *x, u64 reg)
{
	if (reg < HT_REGS && !x->is_initial)
		x->w->row.registers[reg] = x->w->initial.registers[reg];
}

static void set_cfa(struct ht_cfi_run *x, u64 reg, i64 offset)
{
	if (reg >= HT_REGS)
		x->r.bad = 1;
	x->w->row.cfa_register = (u32)reg;
	x->w->row.cfa_value = offset;
	x->w->row.cfa_is_expression = 0;
}

static void set_cfa_offset(struct ht_cfi_run *x, i64 offset)
{
	if (x->w->row.cfa_is_expression)
		x->r.bad = 1;
	x->w->row.cfa_value = offset;
}

static i64 factored(const struct ht_cfi_run *x, u64 v)
{
	return (i64)(v * (u64)x->cie->data_align);
}

static i64 block(struct ht_cfi_run *x)
{
	u64 at = x->r.p;
	ht_read_skip(&x->r, ht_read_uleb(&x->r));
	return (i64)at;
}

// Advances to the next row. Returns true if that one begins beyond pc.
static int advance(struct ht_cfi_run *x, u64 delta)
{
	u64 next = x->location + delta * x->cie->code_align;
	if (next > x->pc)
		return 1;
	x->location = next;
	return 0;
}

static int extended(struct ht_cfi_run *x, u8 op)
{
	struct ht_reader *r = &x->r;
	struct ht_cfi_row *row = &x->w->row;
	struct ht_cfi_bases bases = {0, x->w->fde.start};
	u64 reg;

	switch (op) {
	case 0x00: // nop
		return 0;
	case 0x01: // set_loc
		reg = ht_cfi_read_encoded(&x->text, r, x->cie->encoding, &bases);
		if (reg > x->pc)
			return 1;
		x->location = reg;
		return 0;
	case 0x02: // advance_loc1, 2, 4
		return advance(x, ht_read_fixed(r, 1));
	case 0x03:
		return advance(x, ht_read_fixed(r, 2));
	case 0x04:
		return advance(x, ht_read_fixed(r, 4));
	case 0x05: // offset_extended
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_AT_CFA, factored(x, ht_read_uleb(r)));
		return 0;
	case 0x06: // restore_extended
		restore(x, ht_read_uleb(r));
		return 0;
	case 0x07:
		set(x, ht_read_uleb(r), HT_CFI_UNDEFINED, 0);
		return 0;
	case 0x08:
		set(x, ht_read_uleb(r), HT_CFI_SAME, 0);
		return 0;
	case 0x09: // register
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_REGISTER, (i64)ht_read_uleb(r));
		return 0;
	case 0x0a: // remember_state
		if (x->remembered == HT_CFI_REMEMBERED)
			r->bad = 1;
		else
			x->w->remembered[x->remembered++] = *row;
		return 0;
	case 0x0b: // restore_state
		if (!x->remembered)
			r->bad = 1;
		else
			*row = x->w->remembered[--x->remembered];
		return 0;
	case 0x0c: // def_cfa
		reg = ht_read_uleb(r);
		set_cfa(x, reg, (i64)ht_read_uleb(r));
		return 0;
	case 0x0d: // def_cfa_register
		if (row->cfa_is_expression)
			r->bad = 1;
		set_cfa(x, ht_read_uleb(r), row->cfa_value);
		return 0;
	case 0x0e: // def_cfa_offset
		set_cfa_offset(x, (i64)ht_read_uleb(r));
		return 0;
	case 0x0f: // def_cfa_expression
		row->cfa_value = block(x);
		row->cfa_is_expression = 1;
		return 0;
	case 0x10: // expression
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_AT_EXPRESSION, block(x));
		return 0;
	case 0x11: // offset_extended_sf
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_AT_CFA, factored(x, (u64)ht_read_sleb(r)));
		return 0;
	case 0x12: // def_cfa_sf
		reg = ht_read_uleb(r);
		set_cfa(x, reg, factored(x, (u64)ht_read_sleb(r)));
		return 0;
	case 0x13: // def_cfa_offset_sf
		set_cfa_offset(x, factored(x, (u64)ht_read_sleb(r)));
		return 0;
	case 0x14: // val_offset
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_IS_CFA, factored(x, ht_read_uleb(r)));
		return 0;
	case 0x15: // val_offset_sf
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_IS_CFA, factored(x, (u64)ht_read_sleb(r)));
		return 0;
	case 0x16: // val_expression
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_IS_EXPRESSION, block(x));
		return 0;
	case 0x2d: // GNU_window_save: not on this machine
		return 0;
	case 0x2e: // GNU_args_size: for landing pads only
		ht_read_uleb(r);
		return 0;
	case 0x2f: // GNU_negative_offset_extended
		reg = ht_read_uleb(r);
		set(x, reg, HT_CFI_AT_CFA, -factored(x, ht_read_uleb(r)));
		return 0;
	}
	r->bad = 1;
	return 0;
}

static int run(struct ht_cfi_run *x)
{
	while (x->r.p < x->r.end && !x->r.bad) {
		u8 op = (u8)ht_read_fixed(&x->r, 1), low = op & 63;
		int beyond = 0;
		switch (op >> 6) {
		case 0:
			beyond = extended(x, op);
			break;
		case 1:
			beyond = advance(x, low);
			break;
		case 2:
			set(x, low, HT_CFI_AT_CFA, factored(x, ht_read_uleb(&x->r)));
			break;
		case 3:
			restore(x, low);
			break;
		}
		if (beyond)
			break;
	}
	return x->r.bad ? -1 : 0;
}

int ht_cfi_find(const struct ht_cfi_text *text, u64 pc, struct ht_cfi_work *w)
{
	const struct ht_cfi_cie *cie = &w->cie;
	const struct ht_cfi_fde *fde = &w->fde;
	struct ht_cfi_run *x = &w->run;
	int r = ht_cfi_search(text, pc, w);

	w->signal = 0;
	if (r != HT_CFI_OK)
		return r;
	__builtin_memset(&w->row, 0, sizeof(w->row));
	*x = (struct ht_cfi_run){{cie->instructions, cie->instructions_end, 0}, *text, cie, w, 0, ~0ull, 0, 1};
	if (run(x) < 0)
		return HT_CFI_BAD;
	w->initial = w->row;
	*x = (struct ht_cfi_run){{fde->instructions, fde->instructions_end, 0}, *text, cie, w, fde->start, pc, 0, 0};
	if (run(x) < 0)
		return HT_CFI_BAD;
	w->signal = cie->signal;
	w->start = fde->start;
	return HT_CFI_OK;
}
