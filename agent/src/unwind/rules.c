// SPDX-License-Identifier: Apache-2.0
//
// rules.c: compiles call frame information to one-word rules, and the table that keeps them.
//
// An entry is claimed by storing its address with a compare-and-swap; the rule follows with another one. So if several
// threads compile the same rule, one wins, and the others use its rule and pc id. No thread waits: one that finds an
// entry without a rule compiles it itself.
//
// The table grows by a copy twice the size. Entries that are added to the old one meanwhile are lost and compiled
// again. The memory of a retired table is freed at once. What a late thread reads there is never used, because every
// reader checks afterwards that ht_rule_table is still the same word (see rules.h).
//
// Unloading a module marks its entries dead. A dead entry can only be revived for the same address.

#include "unwind/rules.h"
#include "base/memory.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/sum.h"
#include "unwind/frames.h"

#define FIRST_BITS 10 // four pages: most processes are short

u64 ht_rule_table;
static u32 used; // approximate number of entries in the current table, dead ones included
static u32 unknown; // number of rules for addresses outside of all modules
static u32 growing;

static u64 size_of(u32 bits)
{
	return sizeof(struct ht_rule_entry) << bits;
}

int ht_rules_init(void)
{
	struct ht_rule_entry *e = ht_map_filled(size_of(FIRST_BITS));
	if (!e)
		return -1;
	ht_store_release(&ht_rule_table, (u64)e | FIRST_BITS);
	return 0;
}

void ht_rules_after_fork(void)
{
	ht_store(&growing, 0);
}

struct ht_scratch *ht_scratch_of(struct ht_memo *memo)
{
	if (!memo->scratch) {
		memo->scratch = ht_map(sizeof(struct ht_scratch));
		memo->scratch_size = memo->scratch ? sizeof(struct ht_scratch) : 0;
	}
	return memo->scratch;
}

// ---------------------------------------------------------------------------------------------------------------------
// Compiling

static u64 pack(u32 type, u32 fp, i64 fp_offset, i64 offset)
{
	if (fp_offset & 7 || fp_offset < -1024 * 8 || fp_offset >= 1024 * 8 || offset & 7 || offset < -(8ll << 23) ||
	    offset >= 8ll << 23)
		return HT_R_COMPLEX;
	return type | fp << 3 | ((u64)(fp_offset >> 3) & 0x7ff) << 5 | (u64)(offset >> 3) << 40;
}

static u64 pack_row(const struct ht_cfi_text *text, const struct ht_cfi_row *row, u64 pc)
{
	const struct ht_cfi_register *ra = &row->registers[HT_REG_PC], *fp = &row->registers[HT_REG_FP];
	struct ht_cfi_folded cfa = {row->cfa_value, (int)row->cfa_register, 0}, at = {0, 0, 0};
	u32 type, where = HT_FP_SAME;

	if (ra->how == HT_CFI_UNDEFINED)
		return HT_R_END;
	if (ra->how != HT_CFI_AT_CFA || ra->value != -8 || row->registers[HT_REG_SP].how != HT_CFI_SAME)
		return HT_R_COMPLEX;
	if (row->cfa_is_expression && ht_cfi_fold(text, (u64)row->cfa_value, pc, &cfa) < 0)
		return HT_R_COMPLEX;
	if (cfa.reg == HT_REG_SP && !cfa.load)
		type = HT_R_SP;
	else if (cfa.reg == HT_REG_FP)
		type = cfa.load ? HT_R_LOAD_FP : HT_R_FP;
	else
		return HT_R_COMPLEX;
	switch (fp->how) {
	case HT_CFI_SAME:
	case HT_CFI_UNDEFINED:
		break;
	case HT_CFI_AT_CFA:
		where = HT_FP_AT_CFA;
		at.offset = fp->value;
		break;
	case HT_CFI_AT_EXPRESSION:
		if (ht_cfi_fold(text, (u64)fp->value, pc, &at) < 0 || at.reg != HT_REG_FP || at.load)
			return HT_R_COMPLEX;
		where = HT_FP_AT_FP;
		break;
	default:
		return HT_R_COMPLEX;
	}
	return pack(type, where, at.offset, cfa.offset);
}

static int at_trampoline(u64 pc)
{
	return ht_readable(pc) && ht_readable(pc + 8) && ht_is_trampoline((const u8 *)pc);
}

// Computes the rule without its pc id, and the module's id.
static u64 compile(u64 key, struct ht_scratch *s, u32 *module)
{
	u64 pc = key & ~HT_PC_INTERRUPTED, at = key & HT_PC_INTERRUPTED ? pc : pc - 1;
	const struct ht_loaded *l = ht_module_of(at, s->buffer);
	struct ht_cfi_text generated;
	int found;

	*module = l ? l->id : 0;
	if (!l || !l->cfi.hdr) {
		if (at_trampoline(pc))
			return HT_R_SIGNAL;
		if (!l && ht_frames_at(at, &generated) && ht_cfi_find(&generated, at, &s->cfi) == HT_CFI_OK)
			return s->cfi.signal ? HT_R_COMPLEX : pack_row(&generated, &s->cfi.row, pc);
		if (l)
			return HT_R_CHAIN;
		return (ht_is_generated(at, s->buffer) ? HT_R_CHAIN : HT_R_BAD) | HT_FP_NO_CODE << 3;
	}
	found = ht_cfi_find(&l->cfi, at, &s->cfi);
	if (found == HT_CFI_NONE) {
		if (at_trampoline(pc))
			return HT_R_SIGNAL;
		// No call returns to a function's first instruction: that frame was made by hand, as makecontext's is.
		if (at != pc && ht_cfi_find(&l->cfi, pc, &s->cfi) == HT_CFI_OK && s->cfi.start == pc)
			return HT_R_END;
		return HT_R_CHAIN;
	}
	if (found != HT_CFI_OK)
		return HT_R_BAD;
	if (s->cfi.signal)
		return at_trampoline(pc) ? HT_R_SIGNAL : HT_R_COMPLEX;
	return pack_row(&l->cfi, &s->cfi.row, pc);
}

u32 ht_pc_add(u64 key, u32 module)
{
	// Check before adding, so that the counter of a full table does not grow for ever.
	u32 id = ht_load(&ht_header->next_pc);
	if (id >= HT_PC_IDS || !ht_array_has(HT_SEG_PCS, id))
		return 0;
	do
		id = __atomic_fetch_add(&ht_header->next_pc, 1, __ATOMIC_RELAXED);
	while (id == 0);
	if (id >= HT_PC_IDS || !ht_array_has(HT_SEG_PCS, id))
		return 0;
	ht_pcs[id].module = module;
	ht_pcs[id].sum = ht_sum_pc(id, key, module);
	ht_store_release(&ht_pcs[id].pc, key);
	return id;
}

// ---------------------------------------------------------------------------------------------------------------------
// The table

static u64 next_word(u64 word, const void *entries, u32 bits)
{
	return (u64)entries | bits | ((word >> 48) + 1) << 48;
}

static void grow(u64 word)
{
	const struct ht_rule_entry *from = HT_RULE_ENTRIES(word);
	u64 size = 1ull << HT_RULE_BITS(word), live = 0, copied = 0;
	u32 bits = HT_RULE_BITS(word), before = ht_load(&used);
	struct ht_rule_entry *to;

	for (u64 i = 0; i < size; i++)
		live += from[i].pc && !(from[i].pc & HT_RULE_DEAD);
	if (live > size / 4)
		bits++; // otherwise it was full of dead entries
	to = ht_map_filled(size_of(bits));
	if (!to)
		return;
	for (u64 i = 0; i < size; i++) {
		u64 pc = ht_load_acquire(&from[i].pc), rule = ht_load_acquire(&from[i].rule);
		if (!pc || pc & HT_RULE_DEAD || !rule || copied >= 1ull << (bits - 1))
			continue;
		u64 k = ht_rule_slot(pc, bits);
		while (to[k].pc)
			k = (k + 1) & ((1ull << bits) - 1);
		to[k].pc = pc;
		to[k].rule = rule;
		copied++;
	}
	// Fails if the table has been replaced, or if some of its entries were marked dead since: the copy would revive
	// them.
	if (!__atomic_compare_exchange_n(&ht_rule_table, &word, next_word(word, to, bits), 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		ht_unmap(to, size_of(bits));
		return;
	}
	// Claims by other threads meanwhile are counted in either table: better too many than too few.
	__atomic_fetch_add(&used, (u32)copied - before, __ATOMIC_RELAXED);
	ht_sys3(__NR_madvise, from, size_of(HT_RULE_BITS(word)), 4 /* MADV_DONTNEED */);
}

static u64 room(u64 word)
{
	u64 size = 1ull << HT_RULE_BITS(word), n = ht_load(&used);
	return n < size ? size - n : 0;
}

// As in cct.c: one thread grows it, the others continue until it is full.
static void make_room(void)
{
	u64 word = ht_load_acquire(&ht_rule_table), size = 1ull << HT_RULE_BITS(word);
	if (room(word) > size / 4)
		return;
	if (__atomic_exchange_n(&growing, 1, __ATOMIC_ACQUIRE) && room(word) > size / 16)
		return;
	if (word == ht_load_acquire(&ht_rule_table))
		grow(word);
	ht_store_release(&growing, 0);
}

// Returns the entry for pc, claimed if necessary; null if there is no room.
static struct ht_rule_entry *claim(u64 word, u64 pc)
{
	struct ht_rule_entry *entries = HT_RULE_ENTRIES(word);
	u32 bits = HT_RULE_BITS(word);

	if (room(word) <= 1ull << (bits - 8))
		return 0; // the table could not grow; one free entry must always remain
	for (u64 i = ht_rule_slot(pc, bits);; i = (i + 1) & ((1ull << bits) - 1)) {
		struct ht_rule_entry *e = &entries[i];
		u64 key = ht_load_acquire(&e->pc);
		if (!key && __atomic_compare_exchange_n(&e->pc, &key, pc, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
			return e;
		}
		if (key == (pc | HT_RULE_DEAD)) { // the address is in use again
			ht_store_release(&e->rule, 0);
			__atomic_compare_exchange_n(&e->pc, &key, pc, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
			return e;
		}
		if (key == pc)
			return e;
	}
}

u64 ht_rule_make(struct ht_memo *memo, u64 pc)
{
	struct ht_scratch *s = ht_scratch_of(memo);
	struct ht_rule_entry *e;
	u64 word, rule, there = 0;
	u32 module;

	if (!s)
		return 0;
	make_room();
	rule = compile(pc, s, &module);
	word = ht_load_acquire(&ht_rule_table);
	e = claim(word, pc);
	if (e)
		there = ht_load_acquire(&e->rule);
	if (there && ht_load(&ht_rule_table) == word)
		return there; // another thread was faster
	if (!e) { // without an entry it would get a new pc id every time
		ht_count(HT_C_TABLE_FULL);
		return rule;
	}
	rule |= ht_pc_add(pc, module) << 16;
	if (!HT_RULE_PC_ID(rule))
		return rule;
	if (!module)
		__atomic_fetch_add(&unknown, 1, __ATOMIC_RELAXED);
	there = 0;
	if (__atomic_compare_exchange_n(&e->rule, &there, rule, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
	    ht_load(&ht_rule_table) != word)
		return rule;
	return there;
}

void ht_rules_drop(u64 start, u64 end, int only_unknown)
{
	u64 word = ht_load_acquire(&ht_rule_table);

	if (only_unknown && !ht_load(&unknown))
		return;
	// A copy that another thread is making fails to replace the table, because its number changes. If a copy has
	// replaced it already, the work is repeated there.
	do {
		struct ht_rule_entry *entries = HT_RULE_ENTRIES(word);
		for (u64 i = 0; i < 1ull << HT_RULE_BITS(word); i++) {
			u64 key = ht_load_acquire(&entries[i].pc), pc = key & ~HT_PC_INTERRUPTED;
			if (!key || key & HT_RULE_DEAD || pc - start > end - start)
				continue;
			u64 id = HT_RULE_PC_ID(ht_load_acquire(&entries[i].rule));
			if (only_unknown && id && ht_pcs[id].module)
				continue;
			__atomic_compare_exchange_n(&entries[i].pc, &key, key | HT_RULE_DEAD, 0, __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED);
		}
	} while (!__atomic_compare_exchange_n(&ht_rule_table, &word, word + (1ull << 48), 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
}
