// SPDX-License-Identifier: Apache-2.0
//
// test_cfi.c: tests the CFI interpreter on hand-made sections, under sanitizers.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/unwind/rules.c" // for pack_row
#include "section.h"

static int failures;

#define EXPECT(condition, ...) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			printf(__VA_ARGS__); \
			printf("\n"); \
			failures++; \
		} \
	} while (0)

static struct ht_cfi_work work;

// ---------------------------------------------------------------------------------------------------------------------

static void test_encodings(void)
{
	static const struct shape shapes[] = {
		{0x1b, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x1b, 1, "zPLR", 0, 0x3b, 0, 0, 0},
		{0x1b, 3, "zR", 0, 0x3b, 0, 0, 0},
		{0x1b, 4, "zR", 0, 0x3b, 0, 0, 0},
		{0x1b, 1, "zR", 1, 0x3b, 0, 0, 0},
		{0x1b, 1, "zRS", 0, 0x3b, 0, 0, 0},
		{0x1b, 1, "zRX", 0, 0x3b, 0, 0, 0},
		{0x00, 1, "", 0, 0x3b, 0, 0, 0},
		// The functions' addresses: absptr, udata8, sdata8, uleb128, sleb128, udata2, sdata2, udata4.
		{0x00, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x04, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x0c, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x01, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x09, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x12, 1, "zR", 0, 0x3b, 0, 0, 1},
		{0x1a, 1, "zR", 0, 0x3b, 0, 0, 1},
		{0x13, 1, "zR", 0, 0x3b, 0, 0, 0},
		// Relative to the place: absptr, udata8, sdata8, uleb128, sleb128.
		{0x10, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x14, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x1c, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x11, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x19, 1, "zR", 0, 0x3b, 0, 0, 0},
		// Relative to text, data, function, of which there are none; aligned; indirect, absolute and relative.
		{0x20, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x24, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x30, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x40, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x50, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x80, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x9b, 1, "zR", 0, 0x3b, 0, 0, 0},
		{0x9c, 1, "zR", 0, 0xff, 0, 0, 0},
		// The table: absolute, relative to the place, to the header; of a kind that must be searched from the
		// start; none.
		{0x1b, 1, "zR", 0, 0x04, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0x0c, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0x1b, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0x33, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0x3c, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0x32, 0, 0, 1},
		{0x1b, 1, "zR", 0, 0x31, 0, 0, 0},
		{0x1b, 1, "zR", 0, 0xff, 0, 0, 0},
		{0x1c, 1, "zR", 1, 0xff, 0, 0, 0},
		// The header's other fields.
		{0x1b, 1, "zR", 0, 0xff, 0x3b, 0, 0},
		{0x1b, 1, "zR", 0, 0xff, 0x9b, 0, 0},
		{0x1b, 1, "zR", 0, 0xff, 0x04, 0, 0},
		{0x1b, 1, "zR", 0, 0x3b, 0x50, 0, 0},
		{0x1b, 1, "zR", 0, 0x3b, 0x1c, 0x04, 0},
		{0x1b, 1, "zR", 0, 0x3b, 0x1b, 0x01, 0},
		{0x1b, 1, "zR", 0, 0x3b, 0x1b, 0x09, 0},
	};
	for (u32 i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct built b = build(&shapes[i], "\x44\x0e\x20", 3); // advance 4; def_cfa_offset 32
		struct {
			u64 at;
			int result;
			i64 offset;
		} cases[] = {
			{0, HT_CFI_OK, 8},	 {0xff, HT_CFI_OK, 8},	 {0x100, HT_CFI_NONE, 0},
			{0x1ff, HT_CFI_NONE, 0}, {0x200, HT_CFI_OK, 8},	 {0x203, HT_CFI_OK, 8},
			{0x204, HT_CFI_OK, 32},	 {0x2ff, HT_CFI_OK, 32}, {0x300, HT_CFI_NONE, 0},
			{~0ull, HT_CFI_NONE, 0},
		};
		for (u32 k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
			int r = ht_cfi_find(&b.text, b.code + cases[k].at, &work);
			EXPECT(r == cases[k].result, "shape %u, at %lx: %d", i, cases[k].at, r);
			if (r == HT_CFI_OK)
				EXPECT(work.row.cfa_value == cases[k].offset && work.row.cfa_register == HT_REG_SP &&
					       work.row.registers[16].how == HT_CFI_AT_CFA &&
					       work.row.registers[16].value == -8,
				       "shape %u, at %lx: offset %ld", i, cases[k].at, work.row.cfa_value);
			if (r == HT_CFI_OK)
				EXPECT(work.signal == (strchr(shapes[i].augmentation, 'S') != 0), "shape %u", i);
		}
		free(b.memory);
	}
}

// DW_CFA_set_loc, absolute and relative to the function.
static void test_set_loc(void)
{
	struct shape relative = usual;
	relative.encoding = 0x44;
	struct built b = build(&relative, "\x01\x04\0\0\0\0\0\0\0\x0e\x20", 11); // set_loc 4; def_cfa_offset 32
	for (u64 at = 0x200; at < 0x208; at++) {
		int r = ht_cfi_find(&b.text, b.code + at, &work);
		EXPECT(r == HT_CFI_OK && work.row.cfa_value == (at < 0x204 ? 8 : 32), "at %lx: %d, %ld", at, r,
		       work.row.cfa_value);
	}
	free(b.memory);
}

// Programs of instructions, the rules that they compile to, and the results on a small stack.
struct program {
	const char *name;
	const char *bytes;
	u32 size;
	int find; // expected result of ht_cfi_find
	int step; // of ht_cfi_step
	u64 sp, fp, bx, pc; // after the step; pc and the others refer to the stack below
	u64 rule; // type | fp << 3 of the packed rule
};
#define P(s) s, sizeof(s) - 1

// The stack is 64 words, word i holding 1000 + i; sp points at word 8, fp at word 16, rbx at word 24; w(i) is the
// address of word i.
#define W(i) (0x8000000000000000ull + (i)) // replaced by the address of word i
#define V(i) (1000ull + (i))

static const struct program programs[] = {
	{"nothing", P(""), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
	{"push rbp", P("\x0e\x10\x86\x02"), 0, 0, W(10), V(8), W(24), V(9), HT_R_SP | HT_FP_AT_CFA << 3},
	{"frame", P("\x0e\x10\x86\x02\x0d\x06"), 0, 0, W(18), V(16), W(24), V(17), HT_R_FP | HT_FP_AT_CFA << 3},
	{"cfa in rbx", P("\x0c\x03\x18"), 0, 0, W(27), W(16), W(24), V(26), HT_R_COMPLEX},
	{"cfa expression rbp-8, loaded", P("\x0f\x03\x76\x78\x06"), 0, -1, 0, 0, 0, 0, HT_R_LOAD_FP},
	{"rbp by expression", P("\x10\x06\x02\x76\x08"), 0, 0, W(9), V(17), W(24), V(8), HT_R_SP | HT_FP_AT_FP << 3},
	{"val_expression", P("\x16\x06\x02\x73\x10"), 0, 0, W(9), W(26), W(24), V(8), HT_R_COMPLEX},
	{"val_offset", P("\x14\x06\x01"), 0, 0, W(9), W(8), W(24), V(8), HT_R_COMPLEX},
	{"register", P("\x09\x06\x03"), 0, 0, W(9), W(24), W(24), V(8), HT_R_COMPLEX},
	{"register 17 does not exist", P("\x09\x06\x11"), 0, -1, 0, 0, 0, 0, HT_R_COMPLEX},
	{"rsp by expression", P("\x16\x07\x02\x73\x20"), 0, 0, W(28), W(16), W(24), V(8), HT_R_COMPLEX},
	{"undefined return address", P("\x07\x10"), 0, 1, 0, 0, 0, 0, HT_R_END},
	{"return address elsewhere", P("\x90\x02"), 0, 0, W(9), W(16), W(24), V(7), HT_R_COMPLEX},
	{"rbx saved, restored", P("\x0e\x10\x83\x02\x40\xc3"), 0, 0, W(10), W(16), W(24), V(9), HT_R_SP},
	{"rbx saved", P("\x0e\x10\x83\x02"), 0, 0, W(10), W(16), V(8), V(9), HT_R_SP},
	{"remember, restore", P("\x0a\x0e\x30\x86\x04\x0b"), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
	{"restore only", P("\x0b"), -1, 0, 0, 0, 0, 0, 0},
	{"17 remembered", P("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), -1, 0, 0, 0, 0, 0,
	 0},
	{"a cfa of register 40", P("\x0c\x28\x08"), -1, 0, 0, 0, 0, 0, 0},
	{"offset of an expression", P("\x0f\x02\x77\x08\x0e\x10"), -1, 0, 0, 0, 0, 0, 0},
	{"unknown instruction", P("\x3f"), -1, 0, 0, 0, 0, 0, 0},
	{"cut short", P("\x0c\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), -1, 0, 0, 0, 0, 0, 0},
	{"block beyond the end", P("\x0f\x7f\x77\x08"), -1, 0, 0, 0, 0, 0, 0},
	{"xmm registers are passed over", P("\x05\x11\x02\x91\x02"), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
	{"args_size, window_save", P("\x2e\x10\x2d"), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
	{"negative_offset_extended", P("\x2f\x06\x01"), 0, 0, W(9), V(10), W(24), V(8), HT_R_SP | HT_FP_AT_CFA << 3},
	{"sf forms", P("\x12\x07\x7e\x11\x06\x02"), 0, 0, W(10), V(8), W(24), V(9), HT_R_SP | HT_FP_AT_CFA << 3},
	{"def_cfa_offset_sf", P("\x13\x7d"), 0, 0, W(11), W(16), W(24), V(10), HT_R_SP},
	{"same_value", P("\x86\x01\x08\x06"), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
	{"odd offset", P("\x0e\x0c"), 0, 0, W(8) + 0, 0, 0, 0, HT_R_COMPLEX},
	{"rbp far away", P("\x05\x06\x80\x20"), 0, -1, 0, 0, 0, 0, HT_R_COMPLEX},
	{"advance beyond", P("\x02\x10\x0e\x80\x01"), 0, 0, W(9), W(16), W(24), V(8), HT_R_SP},
};

static void test_programs(void)
{
	static u64 stack[64];
	for (u64 i = 0; i < 64; i++)
		stack[i] = 1000 + i;
	for (u32 i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct program *p = &programs[i];
		struct built b = build(&usual, p->bytes, p->size);
		u64 pc = b.code + 0x208, regs[HT_REGS] = {0};
		int r = ht_cfi_find(&b.text, pc, &work);
		EXPECT(r == p->find, "%s: %d", p->name, r);
		if (r == HT_CFI_OK) {
			u64 rule = pack_row(&b.text, &work.row, pc);
			EXPECT((rule & 31) == p->rule, "%s: rule %lx", p->name, rule);
			regs[HT_REG_SP] = (u64)&stack[8];
			regs[HT_REG_FP] = (u64)&stack[16];
			regs[3] = (u64)&stack[24];
			regs[HT_REG_PC] = pc;
			r = ht_cfi_step(&b.text, &work, regs, (u64)stack, (u64)(stack + 64));
			EXPECT(r == p->step, "%s: %d", p->name, r);
			if (r == HT_CFI_OK && p->sp != W(8)) {
				u64 got[] = {regs[HT_REG_SP], regs[HT_REG_FP], regs[3], regs[HT_REG_PC]};
				u64 want[] = {p->sp, p->fp, p->bx, p->pc};
				for (u32 k = 0; k < 4; k++) {
					if (want[k] >> 63)
						want[k] = (u64)&stack[want[k] & 63];
					EXPECT(got[k] == want[k], "%s, value %u: %lx, not %lx", p->name, k, got[k],
					       want[k]);
				}
			}
		}
		free(b.memory);
	}
}

struct expression {
	const char *bytes;
	u32 size;
	int result;
	u64 value;
};

static const struct expression expressions[] = {
	{P("\x35"), 0, 5},
	{P("\x08\xff"), 0, 255},
	{P("\x09\xff"), 0, ~0ull},
	{P("\x0a\x34\x12"), 0, 0x1234},
	{P("\x0b\xfe\xff"), 0, ~1ull},
	{P("\x0c\x78\x56\x34\x12"), 0, 0x12345678},
	{P("\x0d\xff\xff\xff\xff"), 0, ~0ull},
	{P("\x0e\x01\x02\x03\x04\x05\x06\x07\x08"), 0, 0x0807060504030201},
	{P("\x10\x80\x01"), 0, 128},
	{P("\x11\x7f"), 0, ~0ull},
	{P("\x33\x34\x1c"), 0, ~0ull}, // 3 - 4
	{P("\x37\x32\x1b"), 0, 3}, // 7 / 2
	{P("\x37\x30\x1b"), -1, 0},
	{P("\x37\x32\x1d"), 0, 1},
	{P("\x37\x30\x1d"), -1, 0},
	{P("\x37\x33\x1e"), 0, 21},
	{P("\x31\x1f"), 0, ~0ull},
	{P("\x30\x20"), 0, ~0ull},
	{P("\x11\x7f\x19"), 0, 1},
	{P("\x34\x32\x21"), 0, 6},
	{P("\x36\x33\x27"), 0, 5},
	{P("\x31\x34\x24"), 0, 16},
	{P("\x31\x08\x40\x24"), 0, 0},
	{P("\x11\x70\x32\x25"), 0, 0x3ffffffffffffffc},
	{P("\x11\x70\x32\x26"), 0, ~3ull},
	{P("\x31\x23\x07"), 0, 8},
	{P("\x31\x32\x29"), 0, 0},
	{P("\x31\x32\x2d"), 0, 1},
	{P("\x31\x32\x14\x1c"), 0, 1}, // over, minus: 2 - 1
	{P("\x31\x32\x33\x15\x02"), 0, 1}, // pick 2
	{P("\x31\x15\x01"), -1, 0},
	{P("\x31\x32\x16\x1c"), 0, 1}, // swap: 2 - 1
	{P("\x31\x32\x33\x17\x13"), 0, 1}, // rot, drop: 3 1 2 -> 1
	{P("\x31\x12\x22"), 0, 2},
	{P("\x31\x28\x01\x00\x32\x33"), 0, 3}, // bra over the 2
	{P("\x33\x31\x28\x01\x00\x32\x34\x22"), 0, 7}, // taken: 3 + 4
	{P("\x2f\x01\x00\x32\x33"), 0, 3},
	{P("\x31\x2f\xfc\xff"), -1, 0}, // for ever
	{P("\x2f\x7f\x00"), -1, 0},
	{P("\x2f\x80\xff"), -1, 0},
	{P("\x13"), -1, 0},
	{P("\x22"), -1, 0},
	{P("\xff"), -1, 0},
	{P(""), -1, 0},
	{P("\x08"), -1, 0},
	{P("\x30\x06"), -1, 0}, // *0
	{P("\x53"), 0, 0xb0b},
	{P("\x73\x7f"), 0, 0xb0a},
	{P("\x92\x03\x01"), 0, 0xb0c},
	{P("\x90\x03"), 0, 0xb0b},
	{P("\x90\x40"), -1, 0},
	{P("\x96\x32"), 0, 2},
	{P("\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30\x30"
	   "\x30\x30\x30\x30\x30"
	   "\x30\x30\x30\x30"),
	 -1, 0},
};

static void test_expressions(void)
{
	for (u32 i = 0; i < sizeof(expressions) / sizeof(*expressions); i++) {
		const struct expression *e = &expressions[i];
		u8 *memory = malloc(e->size + 1), *copy = memory;
		u64 regs[HT_REGS] = {0}, value = 0;
		regs[3] = 0xb0b;
		copy[0] = (u8)e->size;
		memcpy(copy + 1, e->bytes, e->size);
		struct ht_cfi_text text = {(u64)memory, (u64)memory + e->size + 1, 0, 0};
		int r = ht_cfi_evaluate(&text, (u64)memory, regs, 0, work.stack, 0, 0, &value);
		EXPECT(r == e->result && (r < 0 || value == e->value), "expression %u: %d, %lx", i, r, value);
		free(memory);
	}
	// Memory: a word on the stack, parts of it, and one beyond its end.
	u64 word = 0x1122334455667788ull, regs[HT_REGS] = {0}, value;
	regs[HT_REG_SP] = (u64)&word;
	static const struct expression loads[] = {
		{P("\x03\x77\x00\x06"), 0, 0x1122334455667788ull},
		{P("\x04\x77\x00\x94\x02"), 0, 0x7788},
		{P("\x04\x77\x04\x94\x04"), 0, 0x11223344},
		{P("\x03\x77\x01\x06"), -1, 0},
		{P("\x03\x77\x78\x06"), -1, 0},
		{P("\x04\x77\x00\x94\x09"), -1, 0},
	};
	for (u32 i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		struct ht_cfi_text text = {(u64)loads[i].bytes, (u64)loads[i].bytes + loads[i].size, 0, 0};
		int r = ht_cfi_evaluate(&text, text.low, regs, 0, work.stack, (u64)&word, (u64)(&word + 1), &value);
		EXPECT(r == loads[i].result && (r < 0 || value == loads[i].value), "load %u: %d, %lx", i, r, value);
	}
}

// The linker's expression for the PLT: rsp + 8 + ((rip & 15) >= 11) * 8.
static void test_plt(void)
{
	struct built b = build(&usual, P("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"));
	for (u64 i = 0; i < 16; i++) {
		u64 pc = b.code + 0x200;
		pc = (pc & ~15ull) + 16 + i;
		EXPECT(ht_cfi_find(&b.text, pc, &work) == HT_CFI_OK, "%lu", i);
		u64 rule = pack_row(&b.text, &work.row, pc);
		EXPECT(HT_RULE_TYPE(rule) == HT_R_SP && HT_RULE_OFFSET(rule) == (i >= 11 ? 16 : 8), "%lu: %lx", i,
		       rule);
	}
	free(b.memory);
}

static void test_pack(void)
{
	static const struct {
		i64 fp, cfa;
		int fits;
	} cases[] = {
		{-16, 16, 1}, {0, 0, 1}, {-8192, 8, 1},	   {8184, 8, 1},     {8192, 8, 0},	{-8200, 8, 0},
		{-12, 8, 0},  {0, 4, 0}, {0, 67108856, 1}, {0, 67108864, 0}, {0, -67108864, 1}, {0, -67108872, 0},
	};
	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		u64 rule = pack(HT_R_FP, HT_FP_AT_CFA, cases[i].fp, cases[i].cfa);
		if (!cases[i].fits) {
			EXPECT(rule == HT_R_COMPLEX, "%u: %lx", i, rule);
			continue;
		}
		rule |= 0xabcdefull << 16;
		EXPECT(HT_RULE_TYPE(rule) == HT_R_FP && HT_RULE_FP(rule) == HT_FP_AT_CFA &&
			       (i64)HT_RULE_FP_OFFSET(rule) == cases[i].fp &&
			       (i64)HT_RULE_OFFSET(rule) == cases[i].cfa && HT_RULE_PC_ID(rule) == 0xabcdef,
		       "%u: %lx", i, rule);
	}
}

static void test_headers(void)
{
	struct {
		u32 at;
		u8 value;
		int result;
	} cases[] = {
		{0, 2, HT_CFI_BAD}, // version
		{1, 0x60, HT_CFI_BAD}, // no such encoding
		{8, 0xff, HT_CFI_BAD}, // more entries than there is room
		{10, 0x7f, HT_CFI_BAD}, {16, 0x7f, HT_CFI_BAD}, // first entry's FDE
	};
	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct built b = build(&usual, "", 0);
		((u8 *)b.text.hdr)[cases[i].at] = cases[i].value;
		int r = ht_cfi_find(&b.text, b.code, &work);
		EXPECT(r == cases[i].result, "header %u: %d", i, r);
		free(b.memory);
	}
}

int main(void)
{
	test_encodings();
	test_set_loc();
	test_programs();
	test_expressions();
	test_plt();
	test_pack();
	test_headers();
	printf("cfi: %zu programs, %zu expressions: %s\n", sizeof(programs) / sizeof(*programs),
	       sizeof(expressions) / sizeof(*expressions), failures ? "FAILED" : "ok");
	return failures != 0;
}
