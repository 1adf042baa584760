// SPDX-License-Identifier: Apache-2.0
//
// rules.h: how to get from a frame to its caller's, in one word, for every return address that was ever seen.
//
// A rule is a pure function of (pc, sp, live fp) and of the memory that it reads. The table is private to the process.
// All threads, and signal handlers that interrupt them, read and write it without locks.
#ifndef HT_RULES_H
#define HT_RULES_H

#include "base/base.h"
#include "unwind/cfi.h"
#include "unwind/memo.h"
#include "unwind/modules.h"
#include "unwind/stack.h"

// bits 0-2 type, 3-4 where the caller's fp is, 5-15 its offset / 8, 16-39 pc id, 40-63 offset of the CFA / 8
enum ht_rule_type {
	HT_R_BAD = 0, // unusable call frame information, or not code
	HT_R_SP = 1, // CFA = sp + offset
	HT_R_FP = 2, // CFA = fp + offset
	HT_R_LOAD_FP = 3, // CFA = *(fp + offset): frames that realign the stack
	HT_R_SIGNAL = 4, // the kernel's signal frame: everything is in the ucontext at sp
	HT_R_END = 5, // the outermost frame
	HT_R_CHAIN = 6, // no call frame information: by frame pointer; the end of the stack if fp is 0
	HT_R_COMPLEX = 7, // needs more registers than sp and fp
};
enum ht_rule_fp {
	HT_FP_SAME = 0,
	HT_FP_AT_CFA = 1, // *(CFA + offset)
	HT_FP_AT_FP = 2, // *(fp + offset)
	HT_FP_NO_CODE = 3, // with HT_R_BAD and HT_R_CHAIN: outside of all modules
};

#define HT_RULE_TYPE(r) ((u32)(r)&7)
#define HT_RULE_FP(r) ((u32)((r) >> 3) & 3)
#define HT_RULE_FP_STAYS(r) (!((r)&0x18)) // HT_FP_SAME
#define HT_RULE_FP_OFFSET(r) ((u64)((i64)(int16_t)(r) >> 5) * 8)
#define HT_RULE_PC_ID(r) ((u32)((r) >> 16) & 0xffffff)
#define HT_RULE_OFFSET(r) ((u64)((i64)(r) >> 40) * 8)
#define HT_PC_IDS (1u << 24)

// Registers besides rbp that a call preserves: rbx, r12 to r15.
#define HT_KEPT 5
// Where an inner frame keeps one of them: the cell, and that frame's sp, which is below the leaf's for the agent's own
// frames.
struct ht_kept {
	u64 at; // 0: still in the register; ~0: not known
	u64 sp;
};

// What a step depends on besides sp and fp.
#define HT_FULL_CELLS 3
struct ht_full_needs {
	u64 cells[HT_FULL_CELLS]; // memory that the step reads for pc, fp and CFA; 0: none
	u32 registers; // registers that it reads, as bits
	u32 unknown; // 1: it may depend on more
	u64 values[HT_KEPT];
	struct ht_kept kept[HT_KEPT];
};

// Working memory of the slow paths, at ht_memo.scratch.
struct ht_scratch {
	struct ht_cfi_text text; // sections for the current frame, see full.c
	struct ht_cfi_work cfi;
	u64 registers[HT_REGS]; // registers of the walk with all registers, see full.c
	u64 before[HT_REGS]; // the same, one frame further inside
	struct ht_kept kept[HT_KEPT]; // where the former come from
	struct ht_full_needs needs; // needs of the last step
	struct ht_bounds bounds; // of the stack that the step reads
	char buffer[HT_MODULE_WORK] __attribute__((aligned(8)));
};
// Allocates it if necessary; null if there is no memory.
struct ht_scratch *ht_scratch_of(struct ht_memo *memo);

struct ht_rule_entry {
	u64 pc; // 0: free; with HT_RULE_DEAD: of an unloaded module
	u64 rule; // 0: not published
};
#define HT_RULE_DEAD (1ull << 62)

// The current table: address (page-aligned, 48 bits) | log2 of its size in the low 6 bits | a number in the top 16 bits
// that differs from that of every earlier state. After reading an entry, check that this word has not changed: entries
// of retired tables are meaningless.
extern u64 ht_rule_table;
#define HT_RULE_ENTRIES(word) ((struct ht_rule_entry *)((word)&0xfffffffff000ull))
#define HT_RULE_BITS(word) ((u32)(word)&63)

// Call sites that lie within 64 bytes share a cache line.
HT_INLINE u64 ht_rule_slot(u64 pc, u32 bits)
{
	return (pc >> 6) * 0x9e3779b97f4a7c15ull >> 32 & ((1ull << bits) - 4);
}

// Compiles the rule and publishes it. Returns 0 only if there is no working memory.
HT_COLD u64 ht_rule_make(struct ht_memo *memo, u64 pc);

// Returns the rule for a return address, or for an interrupted address (HT_PC_INTERRUPTED).
HT_INLINE u64 ht_rule_get(struct ht_memo *memo, u64 pc)
{
	u64 word = ht_load_acquire(&ht_rule_table);
	u32 bits = HT_RULE_BITS(word);
	const struct ht_rule_entry *entries = HT_RULE_ENTRIES(word);
	for (u64 i = ht_rule_slot(pc, bits);; i = (i + 1) & ((1ull << bits) - 1)) {
		u64 key = ht_load_acquire(&entries[i].pc);
		if (ht_likely(key == pc)) {
			u64 rule = ht_load_acquire(&entries[i].rule);
			if (ht_likely(rule != 0 && ht_load(&ht_rule_table) == word))
				return rule;
			break;
		}
		if (!key)
			break;
	}
	return ht_rule_make(memo, pc);
}

// The table at the beginning of a walk, decoded once.
struct ht_rule_view {
	u64 word;
	u64 entries; // address
	u64 mask; // mask of a slot's offset in bytes
};

HT_INLINE struct ht_rule_view ht_rule_view(void)
{
	u64 word = ht_load_acquire(&ht_rule_table);
	return (struct ht_rule_view){word, (u64)HT_RULE_ENTRIES(word), ((1ull << HT_RULE_BITS(word)) - 4) * 16};
}

// Like ht_rule_get, but fast if the rule is in the first cache line where it may be. The result is valid only if
// afterwards ht_rule_table is still the word of the view. 0 if the rule has not been published yet.
HT_INLINE u64 ht_rule_see(const struct ht_rule_view *v, struct ht_memo *memo, u64 pc)
{
	u64 offset = (pc >> 6) * 0x9e3779b97f4a7c15ull >> 28 & v->mask; // 16 times ht_rule_slot
	const struct ht_rule_entry *e = (const struct ht_rule_entry *)(v->entries + offset);
	for (u32 i = 0; i < 4; i++, e++)
		if (ht_likely(ht_load_acquire(&e->pc) == pc))
			return ht_load_acquire(&e->rule);
	return ht_rule_get(memo, pc);
}

// Makes the pc id of this address or interrupted address. Returns 0 if there is no room.
u32 ht_pc_add(u64 pc, u32 module);
// Forgets the rules for addresses in [start, end): all of them, or only those that belong to no module.
void ht_rules_drop(u64 start, u64 end, int only_unknown);
void ht_rules_after_fork(void);

// Called once, before any event. Returns 0, or -1: the agent must step aside.
int ht_rules_init(void);

#endif
