// SPDX-License-Identifier: Apache-2.0
//
// sampled.c: which allocations sampled mode chooses, and a filter of the chosen blocks.
//
// Every thread has a budget of bytes, drawn from an exponential distribution, that its allocations use up. The
// allocation that exceeds it is chosen, and a new budget is drawn. Since the distribution has no memory, an allocation
// of n bytes is chosen with probability 1 - exp(-n / mean), whatever came before it. By calls, each uses up 1 of a
// budget with a geometric distribution. All in integers: the target may trap on inexact floating-point operations.

#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "unwind/rules.h"
#include "record/slow.h"

#define LOG_BITS 52
#define LN2 0xb17217f7d1cf79acull // ln 2 * 2^64
#define SCALE_BITS 16

static u64 scale; // the mean times ln 2, in 1 / 2^SCALE_BITS: what one bit of -log2 of a uniform number comes to

// log2 of x > 0, in 1 / 2^LOG_BITS, rounded down: the digits of the fraction come from squaring.
static u64 log2_of(u64 x)
{
	u64 whole = 63 - (u64)__builtin_clzll(x), log = whole, m = x << (63 - whole);
	for (u32 i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)m * m; // m is in [1, 2), in 1 / 2^63
		u64 carry = (u64)(square >> 127);
		m = (u64)(square >> (63 + carry));
		log = log << 1 | carry;
	}
	return log;
}

void ht_sample_init(void)
{
	u64 mean = ht_header->sample & ~HT_SAMPLED_CALLS;
	if (!(ht_header->sample & HT_SAMPLED_CALLS))
		scale = (u64)((unsigned __int128)mean * LN2 >> (64 - SCALE_BITS));
	else if (mean > 1 << 20) // a probability of 1 / mean: -ln(2) / ln(1 - 1 / mean), of which this is the series
		scale = (u64)((unsigned __int128)(2 * mean - 1) * LN2 >> (65 - SCALE_BITS));
	else if (mean > 1)
		scale = (u64)(((unsigned __int128)1 << (LOG_BITS + SCALE_BITS)) / (log2_of(mean) - log2_of(mean - 1)));
	else
		scale = 0;
}

static u64 mix(u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
static u64 uniform(void)
{
	return mix(ht_local.random += 0x9e3779b97f4a7c15ull);
}

// Draws the number of bytes, or calls, until the next sample.
static i64 draw(void)
{
	u64 log = (64ull << LOG_BITS) - log2_of(uniform() | 1);
	return (i64)((unsigned __int128)log * scale >> (LOG_BITS + SCALE_BITS));
}

int ht_sample_draw(u64 size)
{
	if (ht_unlikely(!ht_local.random)) {
		ht_local.random = mix((ht_local.stopped ? 0 : ht_clock()) ^ mix((u64)&ht_local ^ (u64)ht_pid << 32));
		ht_local.budget = draw();
		if (!ht_sample_is_due(size))
			return 0;
	}
	ht_local.budget = draw();
	return 1;
}

void ht_sample_after_fork(void)
{
	ht_local.random = 0; // otherwise it would draw the same numbers as its parent
	ht_local.budget = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// The filter. Beside each count are the addresses that it counts, so that a deallocation of another block with the same
// hash does not decrement it.

u8 ht_filter[1 << HT_FILTER_BITS] HT_LARGE;
typedef u64 held_addresses[HT_FILTER_SLOTS];
static held_addresses *held; // one for each count; mapped when the first block is added, because exact mode needs none

static u32 is_used;

int ht_filter_is_used(void)
{
	return ht_load(&is_used) != 0;
}

static held_addresses *make_held(void)
{
	const u64 size = sizeof(held_addresses) << HT_FILTER_BITS;
	held_addresses *none = 0, *made = ht_map(size);
	if (made && !__atomic_compare_exchange_n(&held, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		ht_unmap(made, size);
		made = none;
	}
	return made;
}

void ht_filter_add(const void *p)
{
	u64 i = ht_filter_index(p);
	if (ht_load(&ht_filter[i]) == HT_FILTER_FULL)
		return;
	ht_store(&is_used, 1);
	held_addresses *list = ht_load_acquire(&held);
	if (ht_unlikely(!list))
		list = make_held();
	for (u32 k = 0; list && k < HT_FILTER_SLOTS; k++) {
		u64 none = 0;
		if (!__atomic_compare_exchange_n(&list[i][k], &none, (u64)p, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		u8 count = ht_load(&ht_filter[i]);
		while (count != HT_FILTER_FULL && !__atomic_compare_exchange_n(&ht_filter[i], &count, count + 1, 1,
									       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return;
	}
	ht_store(&ht_filter[i], HT_FILTER_FULL);
}

int ht_filter_take(const void *p)
{
	u64 i = ht_filter_index(p);
	u8 count = ht_load(&ht_filter[i]);
	if (!count)
		return 0;
	held_addresses *list = ht_load_acquire(&held);
	for (u32 k = 0; list && k < HT_FILTER_SLOTS; k++) {
		u64 address = (u64)p;
		if (!__atomic_compare_exchange_n(&list[i][k], &address, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		while (count != HT_FILTER_FULL && !__atomic_compare_exchange_n(&ht_filter[i], &count, count - 1, 1,
									       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return 1;
	}
	return count == HT_FILTER_FULL;
}

void ht_filter_saturate(void)
{
	ht_store(&is_used, 1);
	for (u32 i = 0; i < sizeof(ht_filter); i++)
		ht_store(&ht_filter[i], HT_FILTER_FULL);
}
