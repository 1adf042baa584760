// SPDX-License-Identifier: Apache-2.0
//
// sketch.c: a reduced copy of the agent's hot path, for x86-64 and glibc 2.35. The agent is measured beside it.
//
// It takes the exact call stack of each allocation as the agent does (docs/design/0003-unwinding.md), numbers it in a
// tree, and writes an event of 24 bytes for each allocation and deallocation into a ring that nobody reads. All else
// that a program needs is missing:
//
//   - A stack elsewhere than on the thread's own, or with MAX_FRAMES frames or more, has no number.
//   - A stack ends at a frame that has no rule: of a signal, of generated code, of unusual call frame information.
//   - A forked child records nothing. Recording stops when a table is full.
#define _GNU_SOURCE
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "next.h"

#if !__GLIBC_PREREQ(2, 35)
#error "the sketch needs glibc 2.35"
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define FENCE() __asm__ volatile("" ::: "memory")

#define GOLDEN 0x9e3779b97f4a7c15ull
#define MAX_FRAMES 32768
#define CHUNK (256u << 10)
#define CHUNKS 16

extern void *__libc_stack_end;

// A frame of a remembered stack. Its step, and those of all frames further out, read the first `checks` cells.
struct frame {
	u64 pc, sp, fp, rule, hash;
	u32 pc_id, node, checks, fp_live;
} __attribute__((aligned(64)));

// A memory cell that a step has read, and its value.
struct check {
	const u64 *cell;
	u64 value;
};

// A frame that a walk has found.
struct step {
	u64 pc, sp, fp, rule, cfa;
	u32 pc_id;
};

// The stack that a thread remembers, and a walk's steps.
struct memo {
	struct frame frames[MAX_FRAMES]; // root first
	struct check checks[3 * MAX_FRAMES];
	struct step steps[MAX_FRAMES]; // leaf first
};

enum { OUTSIDE, ACTIVE, BUSY };

struct thread {
	int state;
	int depth; // of the remembered stack
	u32 generation;
	u64 *at, *end; // room in the chunk
	u64 low, high; // the thread's own stack
	struct memo *memo;
};

static __thread struct thread thread __attribute__((tls_model("initial-exec")));
static struct memo *spare; // of a thread that has ended
static pthread_key_t key;
static volatile int recording;
static volatile u32 generation = 1; // changes when a module is unloaded; invalidates all remembered stacks
static u64 loader, loader_size, unloaded;
static char *ring;
static u64 chunks_used;

// ---- Tables: lock-free; elements are never removed, only marked dead.

#define RULE_BITS 17
#define RULE_SLOTS (1u << RULE_BITS)
#define NODE_BITS 21
#define NODE_SLOTS (1u << NODE_BITS)
#define DEAD (1ull << 62) // of a module that is gone

struct entry {
	u64 pc, rule;
};

static struct entry *rules;
static u64 *hashes, *nodes; // of each node: the hash of its path; parent << 32 | pc id
static u32 rules_used, nodes_used;

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void *map_huge(size_t size)
{
	const u64 page = 2 << 20;
	u64 p = (u64)map(size + page);
	if (!p)
		return NULL;
	p = (p + page - 1) & ~(page - 1);
	madvise((void *)p, size, MADV_HUGEPAGE);
	return (void *)p;
}

// Claims a slot. Returns what is in it now: `value`, or what another thread has put there. 0: the table is full.
static u64 claim(u64 *slot, u64 value, u32 *used, u32 slots)
{
	u64 old = 0;
	if (__atomic_load_n(used, __ATOMIC_RELAXED) >= slots / 4 * 3) {
		recording = 0;
		return 0;
	}
	if (!__atomic_compare_exchange_n(slot, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return old;
	__atomic_fetch_add(used, 1, __ATOMIC_RELAXED);
	return value;
}

// ---- Rules: how to get from a frame to its caller, by return address. From bit 0 on: how the canonical frame address
// is found; where the caller's fp is; its offset (16 bits, signed); the offset of the frame address (32 bits, signed).

enum { BY_SP = 1, BY_FP, BY_LOADED_FP, OUTERMOST, UNKNOWN };
enum { FP_STAYS, FP_AT_CFA, FP_AT_FP };

#define RULE(type, fp, fp_offset, offset) \
	((u64)(type) | (u64)(fp) << 4 | (u64)(u16)(fp_offset) << 8 | (u64)(u32)(offset) << 32)
#define RULE_TYPE(rule) ((u32)(rule)&15)
#define RULE_FP(rule) ((u32)(rule) >> 4 & 3)
#define RULE_FP_OFFSET(rule) ((u64)(i64)(int16_t)((rule) >> 8))
#define RULE_OFFSET(rule) ((u64)(i64)(i32)((rule) >> 32))

// What call frame information says of a register, and where its expression is.
enum how { SAME, AT_CFA, UNDEFINED, AT_EXPRESSION, OTHER };

struct place {
	enum how how;
	i64 offset;
	const u8 *expression;
};

#define FP 6
#define SP 7
#define RA 16
#define REGISTERS 17

struct row {
	u64 cfa_register;
	i64 cfa_offset;
	const u8 *cfa_expression;
	struct place places[REGISTERS];
};

// A run of call frame instructions.
struct run {
	const u8 *p, *end;
	u64 location, pc, code_align;
	i64 data_align;
	u8 encoding;
	struct row row, initial, remembered[8];
	u32 n_remembered;
};

static u64 read_fixed(const u8 **p, u32 size)
{
	u64 v = 0;
	memcpy(&v, *p, size);
	*p += size;
	return v;
}

static u64 read_leb(const u8 **p, int is_signed)
{
	u64 v = 0;
	u32 shift = 0;
	u8 b;
	do {
		b = *(*p)++;
		v |= (u64)(b & 127) << shift;
		shift += 7;
	} while (b & 128);
	if (is_signed && shift < 64 && b & 64)
		v |= ~0ull << shift;
	return v;
}

// Reads a pointer of the encodings DW_EH_PE_*: absolute, relative to its own place, or to `base`.
static u64 read_pointer(const u8 **p, u8 encoding, u64 base)
{
	u64 from = (encoding & 0x70) == 0x10 ? (u64)*p : (encoding & 0x70) == 0x30 ? base : 0;
	switch (encoding & 15) {
	case 1:
		return from + read_leb(p, 0);
	case 9:
		return from + read_leb(p, 1);
	case 2:
		return from + read_fixed(p, 2);
	case 10:
		return from + (u64)(int16_t)read_fixed(p, 2);
	case 3:
		return from + read_fixed(p, 4);
	case 11:
		return from + (u64)(i32)read_fixed(p, 4);
	}
	return from + read_fixed(p, 8);
}

static void set(struct run *x, u64 reg, enum how how, i64 offset)
{
	if (reg < REGISTERS)
		x->row.places[reg] = (struct place){how, offset, NULL};
}

static void restore(struct run *x, u64 reg)
{
	if (reg < REGISTERS)
		x->row.places[reg] = x->initial.places[reg];
}

static void set_cfa(struct run *x, i64 align)
{
	x->row.cfa_register = read_leb(&x->p, 0);
	x->row.cfa_offset = (i64)read_leb(&x->p, align != 1) * align;
	x->row.cfa_expression = NULL;
}

static const u8 *skip_block(struct run *x)
{
	const u8 *block = x->p;
	u64 size = read_leb(&x->p, 0);
	x->p += size;
	return block;
}

// Runs an instruction that has no operand in its first byte and does not advance. Returns -1 if it is unknown.
static int run_extended(struct run *x, u8 op)
{
	u64 reg;
	switch (op) {
	case 0x00: // nop
		return 0;
	case 0x0a: // remember_state
		if (x->n_remembered == 8)
			return -1;
		x->remembered[x->n_remembered++] = x->row;
		return 0;
	case 0x0b: // restore_state
		if (!x->n_remembered)
			return -1;
		x->row = x->remembered[--x->n_remembered];
		return 0;
	case 0x0c: // def_cfa
		set_cfa(x, 1);
		return 0;
	case 0x0d: // def_cfa_register
		x->row.cfa_register = read_leb(&x->p, 0);
		return 0;
	case 0x0e: // def_cfa_offset
		x->row.cfa_offset = (i64)read_leb(&x->p, 0);
		return 0;
	case 0x0f: // def_cfa_expression
		x->row.cfa_expression = skip_block(x);
		return 0;
	case 0x12: // def_cfa_sf
		set_cfa(x, x->data_align);
		return 0;
	case 0x13: // def_cfa_offset_sf
		x->row.cfa_offset = (i64)read_leb(&x->p, 1) * x->data_align;
		return 0;
	case 0x2e: // GNU_args_size
		read_leb(&x->p, 0);
		return 0;
	}
	reg = read_leb(&x->p, 0);
	switch (op) {
	case 0x05: // offset_extended
	case 0x11: // offset_extended_sf
		set(x, reg, AT_CFA, (i64)read_leb(&x->p, op == 0x11) * x->data_align);
		return 0;
	case 0x06:
		restore(x, reg);
		return 0;
	case 0x07:
		set(x, reg, UNDEFINED, 0);
		return 0;
	case 0x08:
		set(x, reg, SAME, 0);
		return 0;
	case 0x09: // register
	case 0x14: // val_offset
	case 0x15: // val_offset_sf
		read_leb(&x->p, 0);
		set(x, reg, OTHER, 0);
		return 0;
	case 0x10: // expression
		set(x, reg, AT_EXPRESSION, 0);
		if (reg < REGISTERS)
			x->row.places[reg].expression = x->p;
		skip_block(x);
		return 0;
	case 0x16: // val_expression
		skip_block(x);
		set(x, reg, OTHER, 0);
		return 0;
	}
	return -1;
}

// Runs until the row of pc.
static int run(struct run *x)
{
	while (x->p < x->end) {
		u8 op = *x->p++, low = op & 63;
		u64 next = x->location;
		if (op >> 6 == 1) // advance_loc
			next += low * x->code_align;
		else if (op >> 6 == 2) // offset
			set(x, low, AT_CFA, (i64)read_leb(&x->p, 0) * x->data_align);
		else if (op >> 6 == 3)
			restore(x, low);
		else if (op == 0x01) // set_loc
			next = read_pointer(&x->p, x->encoding, 0);
		else if (op >= 0x02 && op <= 0x04) // advance_loc1, 2, 4
			next += read_fixed(&x->p, 1u << (op - 2)) * x->code_align;
		else if (run_extended(x, op) < 0)
			return -1;
		if (next > x->pc)
			return 0;
		x->location = next;
	}
	return 0;
}

// Of expressions, compilers use two where they realign a frame: fp + offset, and the same loaded.
static int read_expression(const u8 *p, i64 *offset, int *loaded)
{
	u64 size = read_leb(&p, 0);
	const u8 *end = p + size;
	if (*p++ != 0x70 + FP)
		return -1;
	*offset = (i64)read_leb(&p, 1);
	*loaded = p < end && *p == 0x06;
	return p + *loaded == end ? 0 : -1;
}

static u64 make_rule(const struct row *row)
{
	const struct place *fp = &row->places[FP], *ra = &row->places[RA];
	const u64 unknown = RULE(UNKNOWN, 0, 0, 0);
	u32 type = row->cfa_register == SP ? BY_SP : row->cfa_register == FP ? BY_FP : UNKNOWN;
	i64 offset = row->cfa_offset, fp_offset = fp->offset;
	int loaded;

	if (ra->how == UNDEFINED)
		return RULE(OUTERMOST, 0, 0, 0);
	if (ra->how != AT_CFA || ra->offset != -8)
		return unknown;
	if (row->cfa_expression) {
		if (read_expression(row->cfa_expression, &offset, &loaded) < 0)
			return unknown;
		type = loaded ? BY_LOADED_FP : BY_FP;
	}
	if (type == UNKNOWN || offset < -(1 << 30) || offset > 1 << 30 || fp->how == OTHER)
		return unknown;
	if (fp->how == SAME || fp->how == UNDEFINED)
		return RULE(type, FP_STAYS, 0, offset);
	if (fp->how == AT_EXPRESSION && (read_expression(fp->expression, &fp_offset, &loaded) < 0 || loaded))
		return unknown;
	// A walk reads what is at the frame address, or just below it, without a look at the stack's bounds.
	if (fp_offset < -32768 || fp_offset > (fp->how == AT_CFA ? -16 : 32767))
		return unknown;
	return RULE(type, fp->how == AT_CFA ? FP_AT_CFA : FP_AT_FP, fp_offset, offset);
}

// Finds the description of pc's function by the binary-search table of a module. NULL: there is none.
static const u8 *find_fde(const u8 *header, u64 pc)
{
	const struct {
		i32 pc, fde;
	} * table;
	const u8 *p = header + 4;
	if (header[0] != 1 || header[3] != 0x3b)
		return NULL;
	read_pointer(&p, header[1], (u64)header);
	u64 low = 0, high = read_pointer(&p, header[2], (u64)header);
	i64 at = (i64)(pc - (u64)header);
	table = (const void *)p;
	while (high - low > 1) {
		u64 middle = (low + high) / 2;
		if (table[middle].pc <= at)
			low = middle;
		else
			high = middle;
	}
	return high && table[low].pc <= at ? header + table[low].fde : NULL;
}

// Reads the common part of descriptions. Returns -1 if it is of no use here, as that of signal frames.
static int read_cie(struct run *x, const u8 *cie)
{
	x->end = cie + 4 + *(const u32 *)cie;
	u8 version = cie[8];
	const char *augmentation = (const char *)cie + 9;
	x->p = cie + 9 + strlen(augmentation) + 1 + (version == 4 ? 2 : 0);
	x->code_align = read_leb(&x->p, 0);
	x->data_align = (i64)read_leb(&x->p, 1);
	if ((version == 1 ? read_fixed(&x->p, 1) : read_leb(&x->p, 0)) != RA || augmentation[0] != 'z')
		return -1;
	u64 size = read_leb(&x->p, 0);
	const u8 *instructions = x->p + size;
	for (const char *a = augmentation + 1; *a; a++) {
		if (*a == 'R')
			x->encoding = *x->p++;
		else if (*a == 'L')
			x->p++;
		else if (*a == 'P') {
			u8 encoding = *x->p++;
			read_pointer(&x->p, encoding & 0x7f, 0);
		} else {
			return -1;
		}
	}
	x->p = instructions;
	return 0;
}

static u64 compile_rule(u64 pc)
{
	const u64 unknown = RULE(UNKNOWN, 0, 0, 0);
	struct dl_find_object found;
	struct run x = {.pc = ~0ull};
	const u8 *fde;

	if (_dl_find_object((void *)pc, &found) < 0 || !found.dlfo_eh_frame)
		return unknown;
	fde = find_fde(found.dlfo_eh_frame, pc);
	if (!fde || *(const u32 *)fde == ~0u || read_cie(&x, fde + 4 - *(const i32 *)(fde + 4)) < 0 || run(&x) < 0)
		return unknown;
	x.initial = x.row;
	x.end = fde + 4 + *(const u32 *)fde;
	x.p = fde + 8;
	u64 start = read_pointer(&x.p, x.encoding, 0);
	u64 size = read_pointer(&x.p, x.encoding & 15, 0);
	if (pc - start >= size)
		return unknown;
	u64 augmentation = read_leb(&x.p, 0);
	x.p += augmentation;
	x.location = start;
	x.pc = pc;
	return run(&x) < 0 ? unknown : make_rule(&x.row);
}

static NOINLINE u64 add_rule(u64 pc, u32 slot, u32 *pc_id)
{
	u64 rule = compile_rule(pc - 1);
	*pc_id = 0;
	for (;; slot = (slot + 1) % RULE_SLOTS) {
		u64 there = __atomic_load_n(&rules[slot].pc, __ATOMIC_ACQUIRE);
		if (!there && !(there = claim(&rules[slot].pc, pc, &rules_used, RULE_SLOTS)))
			return RULE(UNKNOWN, 0, 0, 0);
		if (there == pc) {
			__atomic_store_n(&rules[slot].rule, rule, __ATOMIC_RELEASE);
			*pc_id = slot;
			return rule;
		}
	}
}

// Return addresses of the same cache line of code have slots side by side.
INLINE u64 find_rule(u64 pc, u32 *pc_id)
{
	u32 first = (u32)((pc >> 6) * GOLDEN >> (64 - RULE_BITS + 2)) << 2;
	for (u32 slot = first;; slot = (slot + 1) % RULE_SLOTS) {
		u64 there = __atomic_load_n(&rules[slot].pc, __ATOMIC_ACQUIRE);
		if (likely(there == pc)) {
			u64 rule = __atomic_load_n(&rules[slot].rule, __ATOMIC_ACQUIRE);
			*pc_id = slot;
			return likely(rule) ? rule : add_rule(pc, slot, pc_id);
		}
		if (!there)
			return add_rule(pc, first, pc_id);
	}
}

static int read_unloaded(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	*(u64 *)count = info->dlpi_subs;
	return 1;
}

// The loader allocates or frees. It does after a module was unmapped and before another one can take its place.
static NOINLINE void look_at_modules(void)
{
	struct dl_find_object found;
	u64 now;
	dl_iterate_phdr(read_unloaded, &now);
	if (now == unloaded)
		return;
	unloaded = now;
	for (u32 i = 0; i < RULE_SLOTS; i++) {
		u64 pc = rules[i].pc;
		if (pc && !(pc & DEAD) && _dl_find_object((void *)(pc - 1), &found) < 0)
			__atomic_store_n(&rules[i].pc, pc | DEAD, __ATOMIC_RELEASE);
	}
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
}

// ---- The tree of calling contexts: a node is found by the hash of its path.

#define ROOT 0xffffffffu
#define ROOT_HASH 0x1234567

INLINE u64 mix(u64 hash, u64 pc_id)
{
	unsigned __int128 m = (unsigned __int128)(hash ^ pc_id) * GOLDEN;
	return (u64)m ^ (u64)(m >> 64);
}

INLINE u32 find_node(u64 hash)
{
	for (u32 slot = (u32)(hash >> (64 - NODE_BITS));; slot = (slot + 1) % NODE_SLOTS) {
		u64 there = __atomic_load_n(&hashes[slot], __ATOMIC_ACQUIRE);
		if (likely(there == hash))
			return slot;
		if (!there)
			return 0;
	}
}

static u32 add_node(u64 hash, u32 parent, u32 pc_id)
{
	for (u32 slot = (u32)(hash >> (64 - NODE_BITS));; slot = (slot + 1) % NODE_SLOTS) {
		u64 there = __atomic_load_n(&hashes[slot], __ATOMIC_ACQUIRE);
		if (!slot && !there) // 0 stands for no node
			continue;
		if (!there && !(there = claim(&hashes[slot], hash, &nodes_used, NODE_SLOTS)))
			return 0;
		if (there == hash) {
			nodes[slot] = (u64)parent << 32 | pc_id;
			return slot;
		}
	}
}

static NOINLINE u32 add_path(struct frame *leaf, const struct frame *root)
{
	struct frame *f = leaf;
	while (f >= root && !f->node && !(f->node = find_node(f->hash)))
		f--;
	u32 node = f >= root ? f->node : ROOT;
	while (node && f++ < leaf)
		node = f->node = add_node(f->hash, node, f->pc_id);
	return node;
}

// ---- Stacks

// Returns the last of n checks that does not hold, or -1.
INLINE int find_mismatch(const struct check *checks, int n)
{
#define DIFFERENCE(i) (*c[-i].cell ^ c[-i].value)
	for (; n >= 8; n -= 8) {
		const struct check *c = checks + n;
		if (unlikely(DIFFERENCE(1) | DIFFERENCE(2) | DIFFERENCE(3) | DIFFERENCE(4) | DIFFERENCE(5) |
			     DIFFERENCE(6) | DIFFERENCE(7) | DIFFERENCE(8)))
			break;
	}
	while (--n >= 0)
		if (*checks[n].cell != checks[n].value)
			return n;
	return -1;
}

// Returns the outermost of the frames up to k that are changed only by check m and those before it.
static int first_changed(const struct frame *frames, int k, int m)
{
	while (k > 0 && (int)frames[k - 1].checks > m)
		k--;
	return k;
}

INLINE int stands_at(const struct frame *f, u64 pc, u64 sp, u64 fp)
{
	return f->sp == sp && f->pc == pc && (!f->fp_live || f->fp == fp);
}

enum end { NONE, COMPLETE, CUT };

// Where a walk is.
struct place_on_stack {
	u64 pc, sp, fp;
};

// Steps one frame up. Returns how the stack ends if it does. CUT: not as it should, or not by a rule.
INLINE enum end climb(struct place_on_stack *at, struct step *x, u64 high)
{
	u64 rule = x->rule, cfa;
	u32 type = RULE_TYPE(rule);
	x->pc = at->pc;
	x->sp = at->sp;
	x->fp = at->fp;
	if (likely(type == BY_SP)) {
		cfa = at->sp + RULE_OFFSET(rule);
	} else if (type == BY_FP) {
		cfa = at->fp + RULE_OFFSET(rule);
	} else if (type == BY_LOADED_FP) {
		u64 cell = at->fp + RULE_OFFSET(rule);
		if (cell < at->sp || cell > high - 8)
			return CUT;
		cfa = *(const u64 *)cell;
	} else {
		return type == OUTERMOST ? COMPLETE : CUT;
	}
	if (unlikely(cfa < at->sp + 8 || cfa > high))
		return CUT;
	if (RULE_FP(rule) == FP_AT_CFA) {
		at->fp = *(const u64 *)(cfa + RULE_FP_OFFSET(rule));
	} else if (unlikely(RULE_FP(rule) == FP_AT_FP)) {
		u64 cell = at->fp + RULE_FP_OFFSET(rule);
		if (cell < at->sp || cell > high - 8)
			return CUT;
		at->fp = *(const u64 *)cell;
	}
	x->cfa = cfa;
	at->pc = *(const u64 *)(cfa - 8);
	at->sp = cfa;
	return likely(at->pc) ? NONE : COMPLETE;
}

// Adds a step's checks. caller is NULL if it is the last. *fp_live is the caller's, and becomes the step's own.
INLINE struct check *add_checks(struct check *c, const struct step *x, const struct frame *caller, u32 *fp_live)
{
	u32 type = RULE_TYPE(x->rule), fp = RULE_FP(x->rule), live = *fp_live;
	*fp_live = 0;
	if (unlikely(type != BY_SP && type != BY_FP && type != BY_LOADED_FP))
		return c;
	if (fp == FP_AT_CFA && live)
		*c++ = (struct check){(const u64 *)(x->cfa + RULE_FP_OFFSET(x->rule)), caller->fp};
	else if (fp == FP_AT_FP && live)
		*c++ = (struct check){(const u64 *)(x->fp + RULE_FP_OFFSET(x->rule)), caller->fp};
	if (type == BY_LOADED_FP)
		*c++ = (struct check){(const u64 *)(x->fp + RULE_OFFSET(x->rule)), x->cfa};
	*c++ = (struct check){(const u64 *)(x->cfa - 8), caller ? caller->pc : 0};
	*fp_live = type != BY_SP || fp == FP_AT_FP || (fp == FP_STAYS && live);
	return c;
}

// Remembers the steps that a walk has made from the leaf to the frames that are unchanged. Returns the stack's node.
INLINE u32 remember(struct thread *t, int kept, int n, enum end end)
{
	struct frame *f = t->memo->frames + kept, *caller = kept ? f - 1 : NULL;
	struct check *c = t->memo->checks + (kept ? caller->checks : 0);
	u64 hash = kept ? caller->hash : ROOT_HASH;
	u32 live = kept ? caller->fp_live : 0;

	t->depth = end == CUT ? 0 : kept + n;
	for (; n > 0; caller = f++) {
		const struct step *x = &t->memo->steps[--n];
		hash = mix(hash, x->pc_id);
		f->pc = x->pc;
		f->sp = x->sp;
		f->fp = x->fp;
		f->rule = x->rule;
		f->pc_id = x->pc_id;
		f->hash = hash;
		f->node = 0;
		c = add_checks(c, x, caller, &live);
		f->fp_live = live;
		f->checks = (u32)(c - t->memo->checks);
	}
	f--;
	if (!f->node)
		f->node = find_node(hash);
	return likely(f->node) ? f->node : add_path(f, t->memo->frames);
}

// Walks from the leaf to the first remembered frame from which on nothing has changed. Only frames up to k may be met.
static NOINLINE u32 walk(struct thread *t, u64 pc, u64 sp, u64 fp, int k)
{
	struct place_on_stack at = {pc, sp, fp};
	const struct frame *frames = t->memo->frames;
	int n = 0, kept = 0, changed = INT_MAX; // frames from k down to this one have changed
	enum end end = NONE;

	if (unlikely(sp < t->low || sp >= t->high || !recording)) {
		t->depth = 0;
		return 0;
	}
	do {
		struct step *x = &t->memo->steps[n];
		while (k >= 0 && frames[k].sp < at.sp)
			k--;
		if (k >= 0 && stands_at(&frames[k], at.pc, at.sp, at.fp)) {
			if (k < changed) {
				int m = find_mismatch(t->memo->checks, (int)frames[k].checks);
				if (m < 0) {
					kept = k + 1;
					break;
				}
				changed = first_changed(frames, k, m);
			}
			x->rule = frames[k].rule;
			x->pc_id = frames[k--].pc_id;
		} else {
			x->rule = find_rule(at.pc, &x->pc_id);
		}
		end = climb(&at, x, t->high);
		n++;
	} while (end == NONE && n < MAX_FRAMES);
	if (unlikely(kept + n >= MAX_FRAMES)) {
		t->depth = 0;
		return 0;
	}
	return remember(t, kept, n, end);
}

// Returns the node of the stack that begins with this frame. 0: there is none.
INLINE u32 capture(struct thread *t, u64 pc, u64 sp, u64 fp)
{
	if (unlikely(t->generation != generation)) {
		t->generation = generation;
		t->depth = 0;
	}
	int k = t->depth - 1;
	if (k >= 0) {
		const struct frame *f = &t->memo->frames[k];
		if (stands_at(f, pc, sp, fp) && likely(find_mismatch(t->memo->checks, (int)f->checks) < 0 && f->node))
			return f->node;
	}
	return walk(t, pc, sp, fp, k);
}

// ---- Events

static NOINLINE int take_chunk(struct thread *t)
{
	if (!recording)
		return 0;
	u64 i = __atomic_fetch_add(&chunks_used, 1, __ATOMIC_RELAXED) % CHUNKS;
	t->at = (u64 *)(ring + i * CHUNK);
	t->end = t->at + (CHUNK - 64) / 8;
	return 1;
}

enum { ALLOCATED = 1, FREED };

INLINE void write_event(struct thread *t, u64 type, u64 address, u64 size, u32 node)
{
	u64 time = __builtin_ia32_rdtsc();
	if (unlikely(t->at >= t->end) && !take_chunk(t))
		return;
	u64 *w = t->at;
	w[0] = address | type << 56;
	w[1] = size | (u64)node << 32;
	w[2] = time;
	t->at = w + 3;
}

static void leave(void *of)
{
	struct thread *t = of;
	t->state = BUSY;
	struct memo *other = __atomic_exchange_n(&spare, t->memo, __ATOMIC_ACQ_REL);
	if (other)
		munmap(other, sizeof *other);
}

static void find_own_stack(struct thread *t)
{
	pthread_attr_t a;
	void *low;
	size_t size;
	if (gettid() == getpid()) {
		t->high = (u64)__libc_stack_end;
		t->low = t->high - (64u << 20); // it grows
	} else if (pthread_getattr_np(pthread_self(), &a) == 0) {
		if (pthread_attr_getstack(&a, &low, &size) == 0) {
			t->low = (u64)low;
			t->high = t->low + size;
		}
		pthread_attr_destroy(&a);
	}
}

// A thread's first event. A thread that cannot record stays BUSY.
static NOINLINE int enter(struct thread *t)
{
	if (!recording || t->state == BUSY)
		return 0;
	t->state = BUSY;
	t->memo = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
	if (!t->memo)
		t->memo = map(sizeof *t->memo);
	if (!t->memo || !take_chunk(t))
		return 0;
	find_own_stack(t);
	pthread_setspecific(key, t);
	t->state = ACTIVE;
	return 1;
}

// BUSY keeps signal handlers, which may interrupt an event anywhere, from recording their own.
INLINE void record(u64 type, void *address, size_t size, u64 pc, const u64 *frame)
{
	struct thread *t = &thread;
	u32 node = 0;
	if (unlikely(t->state != ACTIVE) && !enter(t))
		return;
	t->state = BUSY;
	FENCE();
	if (unlikely(pc - loader < loader_size))
		look_at_modules();
	if (type == ALLOCATED)
		node = capture(t, pc, (u64)(frame + 2), frame[0]);
	write_event(t, type, (u64)address, size, node);
	FENCE();
	t->state = ACTIVE;
}

static void forked(void)
{
	recording = 0;
	thread.state = BUSY;
}

__attribute__((constructor)) static void start(void)
{
	struct dl_find_object found;
	rules = map_huge(RULE_SLOTS * sizeof(struct entry));
	hashes = map_huge(NODE_SLOTS * 8ul);
	nodes = map(NODE_SLOTS * 8ul);
	// Shared memory, as the agent's, with its pages.
	ring = mmap(NULL, CHUNKS * CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!rules || !hashes || !nodes || ring == MAP_FAILED || pthread_key_create(&key, leave) != 0 ||
	    pthread_atfork(NULL, NULL, forked) != 0)
		return;
	if (_dl_find_object((void *)_dl_find_object, &found) == 0) {
		loader = (u64)found.dlfo_map_start;
		loader_size = (u64)found.dlfo_map_end - loader;
	}
	dl_iterate_phdr(read_unloaded, &unloaded);
	recording = 1;
}

#define PC ((u64)__builtin_return_address(0))
#define ALLOCATED_HERE(p, n) record(ALLOCATED, p, n, PC, __builtin_frame_address(0))
#define FREED_HERE(p) record(FREED, p, 0, PC, NULL)

EXPORT void *malloc(size_t n)
{
	void *p = next_malloc(n);
	ALLOCATED_HERE(p, n);
	return p;
}

EXPORT void *calloc(size_t m, size_t n)
{
	void *p = next_calloc(m, n);
	ALLOCATED_HERE(p, m * n);
	return p;
}

EXPORT void *realloc(void *old, size_t n)
{
	if (old)
		FREED_HERE(old);
	void *p = next_realloc(old, n);
	ALLOCATED_HERE(p, n);
	return p;
}

EXPORT int posix_memalign(void **p, size_t a, size_t n)
{
	int failed = next_posix_memalign(p, a, n);
	if (!failed)
		ALLOCATED_HERE(*p, n);
	return failed;
}

EXPORT void *aligned_alloc(size_t a, size_t n)
{
	void *p = next_aligned_alloc(a, n);
	ALLOCATED_HERE(p, n);
	return p;
}

EXPORT void *memalign(size_t a, size_t n)
{
	void *p = next_memalign(a, n);
	ALLOCATED_HERE(p, n);
	return p;
}

EXPORT void free(void *p)
{
	if (unlikely(in_boot(p)))
		return;
	if (likely(p))
		FREED_HERE(p);
	next_free(p);
}
