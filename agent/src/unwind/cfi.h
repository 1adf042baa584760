// SPDX-License-Identifier: Apache-2.0
//
// cfi.h: DWARF call frame information of a loaded module (.eh_frame, found through .eh_frame_hdr).
//
// A module's sections are not trusted: every byte is read within [low, high) of struct ht_cfi_text, everything is
// bounded, and invalid data gives HT_CFI_BAD. Nothing here allocates, locks or keeps state; the caller provides the
// working memory. Tests build the same code with sanitizers (agent/test).
//
// References: DWARF 5 section 6.4; LSB 5.0 core, "Exception Frames".
#ifndef HT_CFI_H
#define HT_CFI_H

#include "base/arch_amd64.h"
#include "base/base.h"

struct ht_cfi_text {
	u64 low, high; // readable memory that holds both sections
	u64 hdr; // .eh_frame_hdr; 0: the module has no call frame information
	u64 frame; // without hdr: .eh_frame; 0: there is none
};

// How the caller's value of a register is found.
enum ht_cfi_how {
	HT_CFI_SAME = 0, // not changed
	HT_CFI_UNDEFINED, // lost; for the return address: the end of the stack
	HT_CFI_AT_CFA, // saved at CFA + value
	HT_CFI_IS_CFA, // is CFA + value
	HT_CFI_AT_EXPRESSION, // saved at the address that the expression at `value` computes
	HT_CFI_IS_EXPRESSION, // is the result of the expression at `value`
	HT_CFI_REGISTER, // is in the register `value`
};

struct ht_cfi_register {
	i64 value; // an expression is the address of its length
	u8 how;
};

// The unwind rules at one instruction. The CFA is register cfa_register + cfa_value, or the expression at cfa_value.
struct ht_cfi_row {
	struct ht_cfi_register registers[HT_REGS];
	i64 cfa_value;
	u32 cfa_register;
	u32 cfa_is_expression;
};

// A bounded reader of [p, end). Once something does not fit, bad is set and all values are 0.
struct ht_reader {
	u64 p, end;
	int bad;
};

// Common information entry: shared by several functions.
struct ht_cfi_cie {
	u64 instructions, instructions_end;
	u64 code_align;
	i64 data_align;
	u64 return_register;
	u8 encoding; // of addresses in its FDEs
	u8 sized; // 'z': FDEs have augmentation data
	u8 signal;
};

// Frame description entry: one function.
struct ht_cfi_fde {
	u64 start, size; // of the code
	u64 instructions, instructions_end;
};

// A run through the instructions of a CIE or an FDE.
struct ht_cfi_work;
struct ht_cfi_run {
	struct ht_reader r;
	struct ht_cfi_text text;
	const struct ht_cfi_cie *cie;
	struct ht_cfi_work *w;
	u64 location, pc;
	u32 remembered;
	int is_initial; // the CIE's own part
};

#define HT_CFI_REMEMBERED 16
#define HT_CFI_STACK 32

struct ht_cfi_work {
	struct ht_cfi_row row; // the result
	u32 signal; // the frame was made by the kernel to call a signal handler
	u64 start; // the beginning of the code that the entry describes
	struct ht_cfi_row initial;
	struct ht_cfi_row remembered[HT_CFI_REMEMBERED];
	u64 stack[HT_CFI_STACK];
	u64 next[HT_REGS];
	struct ht_cfi_cie cie;
	struct ht_cfi_fde fde;
	struct ht_cfi_run run;
};

enum ht_cfi_result { HT_CFI_OK = 0, HT_CFI_NONE = 1, HT_CFI_BAD = -1 };

// Finds the rules at the instruction that contains pc (for a return address: pc - 1) and stores them in w->row and
// w->signal. HT_CFI_NONE: there is no information for pc.
int ht_cfi_find(const struct ht_cfi_text *text, u64 pc, struct ht_cfi_work *w);

// Reduces an expression to register + offset (reg is -1 for a constant), and whether memory is read there at the end.
// pc is the value of the program counter. Returns 0, or -1 if the expression is not of this form.
struct ht_cfi_folded {
	i64 offset;
	int reg;
	int load;
};
int ht_cfi_fold(const struct ht_cfi_text *text, u64 expression, u64 pc, struct ht_cfi_folded *out);

// Steps to the caller by w->row, with all registers; regs[HT_REG_PC] is the program counter. Memory is only read within
// [low, high). HT_CFI_OK; HT_CFI_NONE at the end of the stack; HT_CFI_BAD. Unless it returns HT_CFI_OK, regs are
// unchanged.
int ht_cfi_step(const struct ht_cfi_text *text, struct ht_cfi_work *w, u64 regs[HT_REGS], u64 low, u64 high);

// Once something did not fit, values are 0.
HT_INLINE u64 ht_read_fixed(struct ht_reader *r, u32 size)
{
	u64 v = 0;
	if (ht_unlikely(r->bad || r->end - r->p < size)) {
		r->bad = 1;
		return 0;
	}
	__builtin_memcpy(&v, (const void *)r->p, size); // little-endian
	r->p += size;
	return v;
}

HT_INLINE void ht_read_skip(struct ht_reader *r, u64 size)
{
	if (r->bad || r->end - r->p < size)
		r->bad = 1;
	else
		r->p += size;
}

u64 ht_read_uleb(struct ht_reader *r);
i64 ht_read_sleb(struct ht_reader *r);
// Evaluates a DW_OP expression, whose length is at `expression`. Returns 0 or -1.
int ht_cfi_evaluate(const struct ht_cfi_text *text, u64 expression, const u64 regs[HT_REGS], const u64 *initial,
		    u64 *stack, u64 low, u64 high, u64 *result);

// What an encoded value may be relative to. As in libgcc, on this machine there is no base for text, and one for data
// only in .eh_frame_hdr.
struct ht_cfi_bases {
	u64 data, function;
};
// Reads a pointer (LSB "DWARF Exception Header Encoding"); 0 means null, whatever it is relative to.
u64 ht_cfi_read_encoded(const struct ht_cfi_text *text, struct ht_reader *r, u8 encoding,
			const struct ht_cfi_bases *bases);

// Finds the entries for pc and stores them in w->cie and w->fde. The reader is in w, too, because the target's stack
// may be small. Results as of ht_cfi_find.
HT_NOINLINE int ht_cfi_search(const struct ht_cfi_text *text, u64 pc, struct ht_cfi_work *w);

// Finds the range of code that the entries of text->frame describe. Returns 0, or -1 if there is none or it is invalid.
int ht_cfi_cover(const struct ht_cfi_text *text, u64 *start, u64 *end);

#endif
