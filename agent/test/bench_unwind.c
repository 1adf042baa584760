// SPDX-License-Identifier: Apache-2.0
//
// bench_unwind.c: measures nanoseconds per ht_capture on the shapes of stacks for which the project reports numbers.
//
//   gcc -O2 -I../src bench_unwind.c fake.c ../src/spool/sum.c ../src/unwind/*.c -o bench && ./bench
//
// w1 10: the same stack, depth 10; w1 60 and w1 500 likewise; w1b: a chain of 10 calls re-entered for each event; w2:
// depth 60, of which the top 5 frames vary over 64 leaves (1,024 stacks); w2x the same with 16,384 stacks. Each line is
// the best of five runs, less an empty loop's time where the event does other work.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../src/unwind/memo.h"
#include "fake.h"

#define NI __attribute__((noinline, noclone))
#define RANDOM 4096

static struct ht_memo memo;
static uint32_t numbers[RANDOM];
static long count;
static volatile long sink;
static int off;
static uint32_t mask;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// What a hook does.
NI static u32 event(void)
{
	u64 *frame = __builtin_frame_address(0);
	if (off)
		return 1;
	return ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
}

NI static void same_loop(void)
{
	for (long i = 0; i < count; i++)
		sink += event();
}
NI static void same(int depth)
{
	volatile char room[48];
	room[0] = (char)depth;
	if (depth == 0)
		same_loop();
	else
		same(depth - 1);
	sink += room[0];
}
NI static void chain(int depth)
{
	volatile char room[32];
	room[0] = (char)depth;
	if (depth == 0)
		sink += event();
	else
		chain(depth - 1);
	sink += room[0];
}
NI static void chain_loop(void)
{
	for (long i = 0; i < count; i++)
		chain(9);
}

#define LEAF(n) \
	NI static void leaf##n(uint32_t r) \
	{ \
		volatile char room[16 + 8 * (n % 7)]; \
		room[0] = (char)r; \
		sink += event(); \
		sink += room[0]; \
	}
// clang-format off
#define L8(a) LEAF(a##0) LEAF(a##1) LEAF(a##2) LEAF(a##3) LEAF(a##4) LEAF(a##5) LEAF(a##6) LEAF(a##7)
L8(1) L8(2) L8(3) L8(4) L8(5) L8(6) L8(7) L8(8)
// clang-format on
#define R8(a) leaf##a##0, leaf##a##1, leaf##a##2, leaf##a##3, leaf##a##4, leaf##a##5, leaf##a##6, leaf##a##7
	static void (*const leaves[64])(uint32_t) = {R8(1), R8(2), R8(3), R8(4), R8(5), R8(6), R8(7), R8(8)};

#define MIDDLE(level, n, next, bits) \
	NI static void middle##level##_##n(uint32_t r) \
	{ \
		volatile char room[24 + 16 * n]; \
		room[0] = n; \
		next[r & bits](r >> 4); \
		sink += room[0]; \
	}
#define M4(level, next, bits) \
	MIDDLE(level, 0, next, bits) \
	MIDDLE(level, 1, next, bits) \
	MIDDLE(level, 2, next, bits) \
	MIDDLE(level, 3, next, bits) \
	static void (*const m##level[4])(uint32_t) = {middle##level##_0, middle##level##_1, middle##level##_2, \
						      middle##level##_3};
M4(3, leaves, 63)
M4(2, m3, 3)
M4(1, m2, 3)
M4(0, m1, 3)

NI static void varying_loop(void)
{
	for (long i = 0; i < count; i++) {
		uint32_t r = numbers[i & (RANDOM - 1)] & mask;
		m0[r & 3](r >> 4);
	}
}
NI static void varying(int depth)
{
	volatile char room[64];
	room[0] = (char)depth;
	if (depth == 0)
		varying_loop();
	else
		varying(depth - 1);
	sink += room[0];
}

static void w1_10(void)
{
	same(8);
}
static void w1_60(void)
{
	same(58);
}
static void w1_500(void)
{
	same(498);
}
static void w2(void)
{
	mask = 0x3f1111;
	varying(53);
}
static void w2x(void)
{
	mask = 0x3f3333;
	varying(53);
}

static void measure(const char *name, void (*run)(void), long n)
{
	double best[2] = {1e30, 1e30};
	for (int i = 0; i < 10; i++) {
		off = i & 1;
		count = n / 20;
		run();
		count = n;
		double t = now();
		run();
		t = now() - t;
		if (t < best[off])
			best[off] = t;
	}
	off = 0;
	printf("%-8s %7.2f ns   (with the work around it %.2f, without the event %.2f)\n", name,
	       (best[0] - best[1]) / (double)n, best[0] / (double)n, best[1] / (double)n);
}

int main(void)
{
	fake_start();
	srand(1);
	for (int i = 0; i < RANDOM; i++)
		numbers[i] = (uint32_t)rand() << 1 ^ (uint32_t)rand();
	measure("w1 10", w1_10, 4000000);
	measure("w1 60", w1_60, 2000000);
	measure("w1 500", w1_500, 500000);
	measure("w1b", chain_loop, 1000000);
	measure("w2", w2, 1000000);
	measure("w2x", w2x, 1000000);
	return 0;
}
