// SPDX-License-Identifier: Apache-2.0
//
// deep.c: how much of a deep stack must be compared.
//
// Between two events a thread can rewrite only a limited part of its stack. To change a frame it must leave all inner
// ones and call them again, at the cost of a call for each. Or it copies another stack there, at the cost of a store
// for every 64 bytes. The time between the events bounds both: the frames beyond the bound need not be compared.
//
// This does not hold if inner frames can stay while outer ones change:
// - on foreign stacks, which are not bounded at all;
// - beyond the frames of signals, which a handler may send elsewhere, and of generated code, where JITs patch return
//   addresses in place: with one of these on the stack everything is compared;
// - beyond a large frame that may have a stack in it: outside of each one as much is compared as at the leaf.
//
// Every walk also compares a few cells beyond the bound. If one of them has changed, the bound is wrong for this
// program, and from then on everything is compared.

#include <sys/resource.h>
#include <time.h>

#include "unwind/deep.h"
#include "base/memory.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "unwind/rules.h"

#define TURN 64 // checks
#define ASK_TICKS 1000

u32 ht_deep_distrusted;

struct ht_deep *ht_deep_of(struct ht_memo *memo)
{
	if (!memo->deep)
		memo->deep = ht_map(sizeof(struct ht_deep));
	return memo->deep;
}

// The thread's CPU time. Not all kernels measure it in nanoseconds: those that count ticks of some milliseconds could
// report that a thread did not run at all. 0: not known.
static u64 cpu_time(void)
{
	struct timespec t;
	if (ht_sys2(__NR_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t) != 0)
		return 0;
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static u64 exact_cpu_time(void)
{
	static u32 state; // 0: not known yet
	enum { EXACT = 1, INEXACT };
	if (ht_unlikely(!ht_load(&state))) {
		u64 last = cpu_time(), now;
		u32 n = 0;
		while (n < 16 && (now = cpu_time()) > last) // two system calls cannot take no time
			last = now, n++;
		ht_store(&state, n == 16 ? EXACT : INEXACT);
	}
	return ht_load(&state) == EXACT ? cpu_time() : 0;
}

// Whether the thread has slept since the last call. Another thread may have run on its stack meanwhile, in CPU time of
// its own.
static int has_slept(struct ht_deep *d)
{
	struct rusage r;
	if (ht_sys2(__NR_getrusage, 1 /* RUSAGE_THREAD */, &r) != 0)
		return 1;
	u64 before = d->slept;
	d->slept = (u64)r.ru_nvcsw + 1;
	return d->slept != before;
}

static u64 at_most(u64 time, u64 bytes_each)
{
	u64 bytes = time * bytes_each;
	return bytes <= HT_REWRITE_NEAR ? bytes : HT_REWRITE_NEAR + (bytes - HT_REWRITE_NEAR) / 2;
}

int ht_deep_begin(struct ht_memo *memo, u32 depth)
{
	struct ht_deep *d = memo->deep;
	if (!d || d->scanned != depth || d->odd || memo->first_foreign || ht_load(&ht_deep_distrusted))
		return 0;
	u64 ticks = ht_clock() - d->seen, cpu; // a large number if the clock runs backwards
	u64 frames = ~0ull, bytes = ~0ull;
	if (ticks < HT_FRAMES_MAX) {
		frames = ticks * HT_REWRITE_FRAMES;
		bytes = at_most(ticks, HT_REWRITE_BYTES);
	}
	// Perhaps the thread did not run all the time. Asking the kernel costs less than the comparisons that may be
	// saved.
	if (ticks > ASK_TICKS && d->cpu && !has_slept(d) && (cpu = exact_cpu_time()) >= d->cpu &&
	    cpu - d->cpu < HT_FRAMES_MAX) {
		u64 ns = cpu - d->cpu, by_cpu = ns * HT_REWRITE_FRAMES_NS;
		frames = by_cpu < frames ? by_cpu : frames;
		by_cpu = at_most(ns, HT_REWRITE_BYTES_NS);
		bytes = by_cpu < bytes ? by_cpu : bytes;
	}
	if (frames == ~0ull)
		return 0;
	d->frames = HT_REWRITE_FRAMES_MORE + (u32)frames;
	d->bytes = HT_REWRITE_BYTES_MORE + bytes;
	d->met = ~0u;
	return 1;
}

// Returns the outermost frame that can have been pushed again if `inner` is the innermost one. Each frame takes a call,
// and a store to its cache line.
static u32 floor_of_calls(const struct ht_memo *memo, u32 inner)
{
	const struct ht_deep *d = memo->deep;
	u32 last = inner / HT_LINES_STEP, i = last, lines = (u32)(d->bytes / HT_CACHE_LINE);
	u32 floor = inner > d->frames ? inner - d->frames : 0;
	while (i > floor / HT_LINES_STEP && d->lines[last] - d->lines[i] <= lines)
		i--;
	return i * HT_LINES_STEP > floor ? i * HT_LINES_STEP : floor;
}

// Returns the outermost frame that can have been rewritten, by calls or by a copy, if `inner` is the innermost one.
static u32 floor_of(const struct ht_memo *memo, u32 inner)
{
	u64 end = memo->frames[inner].sp + memo->deep->bytes;
	for (u32 n = inner - floor_of_calls(memo, inner); n < inner; n += n / 8 + 1)
		if (memo->frames[inner - n].sp >= end)
			return inner - n;
	return 0;
}

// Finds a mismatch among the checks from `begin` to `end`, `end` not included.
static i32 mismatch_between(const struct ht_memo *memo, u32 begin, u32 end)
{
	begin &= ~1u;
	const struct ht_check_pair *c = memo->checks + begin / 2;
	if (ht_likely(ht_all_hold(c, end - begin)))
		return -1;
	i32 m = ht_find_mismatch(c, end - begin);
	return m < 0 ? m : m + (i32)begin;
}

// Finds a mismatch among the checks of the frames from `outer` to `inner`.
static i32 mismatch_of(const struct ht_memo *memo, u32 outer, u32 inner)
{
	u32 begin = outer ? HT_CHECKS(&memo->frames[outer - 1]) : 0;
	return mismatch_between(memo, begin, HT_CHECKS(&memo->frames[inner]));
}

// Compares a few of the n checks, which need not be compared.
static i32 take_turn(const struct ht_memo *memo, u32 n)
{
	struct ht_deep *d = memo->deep;
	u32 begin = d->turn < n ? d->turn : 0, end = n - begin > TURN ? begin + TURN : n;
	d->turn = end;
	if (ht_likely(mismatch_between(memo, begin, end) < 0))
		return -1;
	ht_store(&ht_deep_distrusted, 1);
	return ht_find_mismatch(memo->checks, n);
}

HT_NOINLINE i32 ht_deep_mismatch(const struct ht_memo *memo, u32 k)
{
	struct ht_deep *d = memo->deep;
	if (d->met == ~0u)
		d->met = k;
	u32 inner = d->met, outer = floor_of(memo, inner), gap = d->gap_count;
	int all = 1;
	while (gap > 0 && d->gaps[gap - 1] > inner)
		gap--;
	// Whatever part has been found to differ already, the rest is compared as if the walk had met it first.
	for (;; inner = d->gaps[--gap], outer = floor_of(memo, inner), all = 0) {
		while (gap > 0 && d->gaps[gap - 1] >= outer) {
			u32 floor = floor_of(memo, d->gaps[--gap]);
			outer = floor < outer ? floor : outer;
		}
		i32 m = outer <= k ? mismatch_of(memo, outer, inner < k ? inner : k) : -1;
		if (m >= 0)
			return m;
		if (!gap)
			break;
	}
	return outer || !all ? take_turn(memo, HT_CHECKS(&memo->frames[k])) : -1;
}

u32 ht_deep_floor(const struct ht_memo *memo)
{
	return memo->deep->gap_count ? 0 : floor_of(memo, memo->deep->met);
}

static int is_odd(const struct ht_frame *f, u32 index)
{
	switch (HT_RULE_TYPE(f->rule)) {
	case HT_R_SP:
	case HT_R_FP:
	case HT_R_LOAD_FP:
	case HT_R_COMPLEX:
		return !ht_pcs[HT_RULE_PC_ID(f->rule)].module; // generated code, see frames.c
	}
	return index > 0; // the outermost frame has no caller that could change
}

void ht_deep_end(struct ht_memo *memo, u32 base, u32 depth, u32 beyond)
{
	struct ht_deep *d = ht_deep_of(memo);
	const struct ht_frame *f = memo->frames;
	if (!d)
		return;
	if (!d->scanned) {
		d->gap_count = d->odd = 0;
		base = 0;
	} else if (base < d->scanned) {
		while (d->gap_count && d->gaps[d->gap_count - 1] >= base)
			d->gap_count--;
		if (d->odd > base)
			d->odd = 0;
	} else {
		base = d->scanned;
	}
	for (u32 i = base; i < depth; i++) {
		int is_gap = i && f[i - 1].sp - f[i].sp >= HT_GAP, is_full = d->gap_count == HT_GAPS_MAX;
		if (is_gap && !is_full)
			d->gaps[d->gap_count++] = i;
		if (!d->odd && (is_odd(&f[i], i) || (is_gap && is_full)))
			d->odd = i + 1;
	}
	for (u32 i = base / HT_LINES_STEP + 1; i <= depth / HT_LINES_STEP; i++) {
		d->lines[i] = d->lines[i - 1];
		for (u32 k = (i - 1) * HT_LINES_STEP; k < i * HT_LINES_STEP; k++)
			d->lines[i] += k && (f[k].sp - 8) / HT_CACHE_LINE != (f[k - 1].sp - 8) / HT_CACHE_LINE;
	}
	d->scanned = depth;
	d->beyond = beyond;
	d->cpu = exact_cpu_time();
	HT_FENCE();
	d->seen = ht_clock();
}
