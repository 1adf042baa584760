// SPDX-License-Identifier: Apache-2.0
//
// stack.c: finds out which memory around a stack pointer may be read.
//
// The top of the thread's own stack: for the main thread, the address that libc stored at the start; for other threads,
// the thread pointer, because glibc and musl keep the thread's block at the top of its stack. If all pages from sp to
// there are readable, sp is on that stack (a guard page would separate it from any other). The kernel is asked about
// each page once per thread.

#include "unwind/stack.h"
#include "base/arch_amd64.h"
#include "base/sys.h"
#include "unwind/rules.h"

#define PAGE 4096ull
#define PROBE_PAGES 256 // for more pages, /proc/self/maps is read
#define THREAD_STACK_MAX (64ull << 20)
#define MAIN_STACK_MAX (1ull << 40)

extern void *__libc_stack_end __attribute__((weak));

static int all_readable(u64 from, u64 to)
{
	for (u64 at = from; at < to; at += PAGE)
		if (!ht_readable(at))
			return 0;
	return 1;
}

// Whether one mapping reaches from sp to `high` (whose last page may be shared with what lies above).
static int one_mapping(struct ht_memo *memo, u64 sp, u64 high, u64 *low)
{
	struct ht_scratch *s = ht_scratch_of(memo);
	struct ht_mapping m;
	if (!s || ht_maps_find(sp, s->buffer, sizeof(s->buffer), &m) < 0 || !m.readable || m.end < high)
		return 0;
	*low = m.start;
	return 1;
}

static int extend(struct ht_memo *memo, u64 sp, u64 known, u64 high)
{
	u64 low = sp & ~(PAGE - 1);
	if (known - low <= PROBE_PAGES * PAGE ? !all_readable(low, known) : !one_mapping(memo, sp, high, &low))
		return 0;
	memo->low = low;
	memo->high = high;
	return 1;
}

// Whether sp is on the thread's own stack. If so, sets its bounds.
static int is_own(struct ht_memo *memo, u64 sp)
{
	if (memo->high) {
		u64 most = memo->high - sp;
		return sp < memo->low && most < MAIN_STACK_MAX && extend(memo, sp, memo->low, memo->high);
	}
	u64 top = ht_thread_pointer() & ~7ull;
	if (sp < top && top - sp < THREAD_STACK_MAX && extend(memo, sp, top, top))
		return 1;
	if (!&__libc_stack_end || !__libc_stack_end)
		return 0;
	top = ((u64)__libc_stack_end & ~15ull) + 64; // the arguments and the environment lie above it
	return sp < top && top - sp < MAIN_STACK_MAX && extend(memo, sp, top, top);
}

static int is_mapped(u64 from, u64 to)
{
	from &= ~(PAGE - 1);
	return ht_sys3(__NR_msync, from, to - from, 1 /* MS_ASYNC: does nothing but look */) == 0;
}

static int is_region(struct ht_memo *memo, u64 sp, struct ht_bounds *b)
{
	for (u32 i = 0; i < 4; i++) {
		u64 low = memo->regions[i].low, high = memo->regions[i].high;
		if (sp - low >= high - low)
			continue;
		if (!is_mapped(sp, high)) {
			memo->regions[i].low = memo->regions[i].high = 0;
			continue;
		}
		b->low = sp & ~(PAGE - 1); // nothing below that has been checked
		b->high = high;
		b->own = 0;
		return 1;
	}
	return 0;
}

int ht_bounds_find(struct ht_memo *memo, u64 sp, struct ht_bounds *b)
{
	struct ht_scratch *s;
	struct ht_mapping m;

	if (!ht_on_own_stack(memo, sp) && is_region(memo, sp, b))
		return 0;
	if (ht_on_own_stack(memo, sp) || is_own(memo, sp)) {
		b->low = memo->low;
		b->high = memo->high;
		b->own = 1;
		return 0;
	}
	s = ht_scratch_of(memo);
	if (!s || ht_maps_find(sp, s->buffer, sizeof(s->buffer), &m) < 0 || !m.readable)
		return -1;
	u32 i = memo->next_region++ & 3;
	memo->regions[i].low = m.start;
	memo->regions[i].high = m.end;
	b->low = m.start;
	b->high = m.end;
	b->own = 0;
	return 0;
}

int ht_bounds_find_interrupted(struct ht_memo *memo, u64 sp, struct ht_bounds *b)
{
	if (ht_bounds_find(memo, sp - HT_RED_ZONE, b) == 0 && sp < b->high)
		return 0;
	return ht_bounds_find(memo, sp, b);
}

int ht_bounds_renew(struct ht_memo *memo, u64 sp, struct ht_bounds *b)
{
	if (b->own || !is_mapped(b->high, b->high + PAGE))
		return -1;
	for (u32 i = 0; i < 4; i++)
		if (sp - memo->regions[i].low < memo->regions[i].high - memo->regions[i].low)
			memo->regions[i].low = memo->regions[i].high = 0;
	return ht_bounds_find(memo, sp, b);
}
