// SPDX-License-Identifier: Apache-2.0
//
// tree.cc: the random tree of calls and its ordinary frames.

#include <alloca.h>

#include "tree.h"

thread_local uint64_t seed = 88172645463325252ull;
volatile long sink;
menu scenario_menu;
void (*leaf)() = check_event;

uint64_t rnd()
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

template <int N> NI static void plain(int depth)
{
	volatile char room[16 + 24 * N];
	room[0] = (char)depth;
	any(depth);
	sink = sink + room[0];
}

void plain_small(int depth)
{
	plain<0>(depth);
}

void plain_large(int depth)
{
	plain<100>(depth);
}

NI void with_alloca(int depth)
{
	size_t n = 16 + rnd() % 2000;
	volatile char *p = (volatile char *)alloca(n);
	p[n - 1] = 1;
	any(depth);
	sink = sink + p[n - 1];
}

NI void realigned(int depth)
{
	alignas(64) volatile char room[128];
	room[5] = (char)depth;
	any(depth);
	sink = sink + room[5];
}

NI void realigned_alloca(int depth)
{
	alignas(128) volatile char room[128];
	volatile char *p = (volatile char *)alloca(16 + rnd() % 300);
	p[0] = room[5] = (char)depth;
	any(depth);
	sink = sink + room[5] + p[0];
}

NI static void many_arguments(int depth, long a, long b, long c, long d, long e, long f, long g, long h)
{
	any(depth);
	sink = sink + a + b + c + d + e + f + g + h;
}

NI static long many_registers(int depth, long a, long b, long c, long d)
{
	long x = a * 3, y = b * 5, z = c * 7, w = d * 9, v = a ^ b, u = c ^ d;
	any(depth);
	any(depth - 1);
	return x + y * z - w + v * u;
}

static void ordinary(int depth)
{
	switch (rnd() % 8) {
	case 0:
		return plain<1>(depth);
	case 1:
		return plain<7>(depth);
	case 2:
		return plain<100>(depth);
	case 3:
		return with_alloca(depth);
	case 4:
		return realigned(depth);
	case 5:
		return realigned_alloca(depth);
	case 6:
		return many_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8);
	case 7:
		sink = sink + many_registers(depth, depth, sink, 3, 4);
	}
}

void one(int depth)
{
	if (scenario_menu.count)
		scenario_menu.makers[rnd() % scenario_menu.count](depth);
	else
		ordinary(depth);
}

NI void any(int depth)
{
	uint64_t what = rnd() % 16;
	if (depth <= 0 || what < 4) {
		leaf();
		return;
	}
	if (what < 8)
		one(depth - 1);
	else if (what < 14)
		ordinary(depth - 1);
	else {
		any(depth - 1);
		leaf();
	}
	if (rnd() % 4 == 0)
		any(depth - 3);
}
