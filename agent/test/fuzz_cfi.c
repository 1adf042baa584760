// SPDX-License-Identifier: Apache-2.0
//
// fuzz_cfi.c: the CFI interpreter on damaged and random sections, under sanitizers. Without libFuzzer it generates
// input for the number of seconds in its argument: real sections of this process with some bytes changed, and
// well-formed ones with random instructions. With libFuzzer (clang -fsanitize=fuzzer -DLIBFUZZER) an input is the
// distance of an address from .eh_frame_hdr (32 bits), and the two sections as in a file.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/unwind/rules.c" // for pack_row
#include "fake.h"
#include "section.h"

static struct ht_cfi_work work;
static u64 tried, found, stepped;

static void try(const struct ht_cfi_text *text, u64 pc, u64 noise)
{
	u64 *stack = malloc(512), regs[HT_REGS];
	tried++;
	memset(stack, 0x5a, 512);
	for (u32 i = 0; i < HT_REGS; i++)
		regs[i] = i & 1 ? noise * (i + 1) : (u64)stack + (noise >> i & 0x1f8);
	regs[HT_REG_SP] = (u64)stack + 64;
	regs[HT_REG_FP] = (u64)stack + 128;
	regs[HT_REG_PC] = pc;
	if (ht_cfi_find(text, pc, &work) == HT_CFI_OK) {
		found++;
		pack_row(text, &work.row, pc);
		stepped += ht_cfi_step(text, &work, regs, (u64)stack, (u64)stack + 512) == HT_CFI_OK;
	}
	free(stack);
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	i32 distance;
	if (size < sizeof(distance))
		return 0;
	memcpy(&distance, data, sizeof(distance));
	size -= sizeof(distance);
	u8 *copy = malloc(size);
	struct ht_cfi_text text = {(u64)copy, (u64)copy + size, (u64)copy, 0};
	memcpy(copy, data + sizeof(distance), size);
	for (u64 i = 0; i < 4; i++)
		try(&text, (u64)copy + (u64)(i64)distance + i * 4, i * 0x9e3779b97f4a7c15ull);
	free(copy);
	return 0;
}
#else
static u64 random_state = 0x2545f4914f6cdd1dull;
static u64 rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

static u8 nasty(void)
{
	static const u8 bytes[] = {0,	 1,    2,    4,	   7,	 8,    0x0a, 0x0b, 0x0c, 0x0f,
				   0x10, 0x16, 0x1b, 0x3b, 0x7f, 0x80, 0x81, 0x9b, 0xff};
	return rnd() & 1 ? bytes[rnd() % sizeof(bytes)] : (u8)rnd();
}

// Sections of this program: the sanitizer would report memcpy.
__attribute__((no_sanitize("address", "undefined"))) static void copy_words(u64 *to, const volatile u64 *from, u64 size)
{
	for (u64 i = 0; i < size / 8; i++)
		to[i] = from[i];
}

// A copy of a real module's sections, with a few bytes changed.
static void damaged(const struct ht_loaded *l)
{
	u64 size = (l->cfi.high - l->cfi.hdr) & ~7ull, span = l->end - l->start;
	u8 *copy = malloc(size);
	struct ht_cfi_text text = {(u64)copy, (u64)copy + size, (u64)copy, 0};
	copy_words((u64 *)copy, (const u64 *)l->cfi.hdr, size);
	for (u32 round = 0; round < 200; round++) {
		for (u32 i = (u32)(rnd() % 4); i > 0; i--) {
			u64 near = rnd() % 4 == 0 ? rnd() % 64 : rnd() % size;
			copy[near] = nasty();
		}
		for (u32 i = 0; i < 20; i++)
			try(&text, l->start + rnd() % span - l->cfi.hdr + (u64)copy, rnd());
	}
	free(copy);
}

static void made_up(void)
{
	static const u8 encodings[] = {0x1b, 0x1c, 0x00, 0x01, 0x04, 0x09, 0x0c, 0x10, 0x11,
				       0x13, 0x14, 0x19, 0x24, 0x44, 0x50, 0x80, 0x9b};
	static const u8 tables[] = {0x3b, 0x04, 0xff, 0x0c, 0x1b, 0x33, 0x31};
	static const u8 frames[] = {0, 0x3b, 0x9b, 0x50, 0x04};
	u8 program[64];
	u32 size = (u32)(rnd() % sizeof(program));
	struct shape h = {encodings[rnd() % sizeof(encodings)], 1, "zR", rnd() % 4 == 0, tables[rnd() % sizeof(tables)],
			  frames[rnd() % sizeof(frames)],	0, 0};
	for (u32 i = 0; i < size; i++)
		program[i] = nasty();
	if (size > 8 && rnd() % 2) { // an expression, as the CFA or for rbp
		u32 n = 0;
		if (rnd() % 2)
			program[n++] = 0x0f;
		else
			program[n++] = rnd() % 2 ? 0x10 : 0x16, program[n++] = 6;
		program[n] = (u8)(size - n - 1);
		program[n + 1] = 0x77;
		for (u32 i = n + 3; i < size; i++)
			program[i] = rnd() % 3 ? (u8)(0x06 + rnd() % 0x2a) : nasty();
	}
	struct built b = build(&h, (const char *)program, size);
	if (rnd() % 4 == 0)
		((u8 *)b.text.low)[rnd() % (b.text.high - b.text.low)] = nasty();
	for (u32 i = 0; i < 16; i++)
		try(&b.text, b.code + 0x200 + rnd() % 0x100, rnd());
	free(b.memory);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	static char buffer[HT_MODULE_WORK];
	struct timespec a, b;
	fake_start();
	clock_gettime(CLOCK_MONOTONIC, &a);
	random_state ^= (u64)a.tv_nsec << 20;
	printf("fuzz: seed %lx", random_state);
	fflush(stdout);
	const struct ht_loaded *libc = ht_module_of((u64)qsort, buffer), *self = ht_module_of((u64)main, buffer);
	do {
		damaged(self);
		damaged(libc);
		for (u32 i = 0; i < 2000; i++)
			made_up();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9 < seconds);
	int ok = found > tried / 10 && stepped > tried / 50;
	printf(", %lu look-ups, %lu found, %lu stepped: %s\n", tried, found, stepped, ok ? "ok" : "FAILED");
	return !ok;
}
#endif
