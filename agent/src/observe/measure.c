// SPDX-License-Identifier: Apache-2.0
//
// measure.c: counts and balances between two moments, of a thread or of the whole process.
//
// A thread has one set of totals, which only ever grow, and the extremes of their balance since the innermost measure
// began. A measure stores the totals at its begin, and the extremes of the enclosing measure, which it restores when it
// ends. So an event costs the same however many measures are nested. Each total is changed by a single instruction, so
// nothing is lost if a signal handler allocates in between.
//
// A measure of the process is the sum of all threads' totals. Only its balance is shared between threads, because the
// extremes of a sum are not the sum of the extremes.

#include "observe/measure.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "record/mode.h"
#include "record/observer.h"
#include "record/thread.h"

#define SERIAL_SHIFT 8 // a measure's number: serial << 8 | place

static struct ht_measures *all;
static u32 serial;
u32 ht_measures_running;

static struct { // of the process
	i64 number; // 0: free; stored last
	struct ht_totals begin;
	i64 balance; // at the begin
	struct ht_extremes since;
} common[HEAPTAP_MEASURES];
u32 ht_measures_common; // bit i: common[i] runs
static i64 balance; // changes only while one runs

typedef char bits_are_enough[HEAPTAP_MEASURES <= 32 ? 1 : -1];

// ---------------------------------------------------------------------------------------------------------------------
// Events

static struct ht_measures *mine(void)
{
	struct ht_thread *t = ht_thread_mine();
	if (!t || t->measures)
		return t ? t->measures : 0;
	struct ht_measures *m = ht_map(sizeof(*m));
	if (!m)
		return 0;
	m->next = ht_load(&all);
	while (!__atomic_compare_exchange_n(&all, &m->next, m, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	t->measures = m;
	return m;
}

static void moved(struct ht_extremes *e, i64 now, u64 largest)
{
	ht_raise(&e->highest, now);
	ht_lower(&e->lowest, now);
	ht_raise((i64 *)&e->largest, (i64)largest);
}

void ht_measure_in_common(i64 by, u64 requested)
{
	i64 now = __atomic_add_fetch(&balance, by, __ATOMIC_RELAXED);
	for (u32 bits = ht_load_acquire(&ht_measures_common); bits; bits &= bits - 1)
		moved(&common[__builtin_ctz(bits)].since, now, requested);
}

void ht_measure_allocation(u64 requested, u64 usable)
{
	struct ht_measures *m = mine();
	if (m)
		ht_measure_allocated(m, requested, usable);
}

void ht_measure_deallocation(u64 usable)
{
	struct ht_measures *m = mine();
	if (m)
		ht_measure_deallocated(m, usable);
}

// ---------------------------------------------------------------------------------------------------------------------
// Sums

static struct ht_totals difference(const struct ht_totals *a, const struct ht_totals *b)
{
	return (struct ht_totals){a->allocations - b->allocations, a->deallocations - b->deallocations,
				  a->requested - b->requested, a->allocated - b->allocated,
				  a->deallocated - b->deallocated};
}

static void add(struct ht_totals *to, const struct ht_totals *t, u64 times)
{
	ht_add_here(&to->allocations, ht_load(&t->allocations) * times);
	ht_add_here(&to->deallocations, ht_load(&t->deallocations) * times);
	ht_add_here(&to->requested, ht_load(&t->requested) * times);
	ht_add_here(&to->allocated, ht_load(&t->allocated) * times);
	ht_add_here(&to->deallocated, ht_load(&t->deallocated) * times);
}

static struct ht_totals of_all_threads(void)
{
	struct ht_totals sum = {0, 0, 0, 0, 0};
	for (struct ht_measures *m = ht_load_acquire(&all); m; m = m->next) {
		add(&sum, &m->now, 1);
		add(&sum, &m->excluded, 1);
	}
	return sum;
}

static void take_in(struct ht_extremes *to, const struct ht_extremes *e)
{
	moved(to, e->highest, e->largest);
	ht_lower(&to->lowest, e->lowest);
}

// A program built with an older header gets the fields that it knows.
static int give(struct heaptap_measured *out, size_t size, const struct ht_totals *begin, const struct ht_totals *end,
		const struct ht_extremes *since, i64 start)
{
	struct ht_totals t = difference(end, begin);
	struct heaptap_measured m = {t.allocations,
				     t.deallocations,
				     t.requested,
				     t.allocated,
				     t.deallocated,
				     (i64)(t.allocated - t.deallocated),
				     since->highest - start,
				     since->lowest - start,
				     since->largest};
	if (out)
		__builtin_memcpy(out, &m, size < sizeof(m) ? size : sizeof(m));
	return HEAPTAP_OK;
}

// ---------------------------------------------------------------------------------------------------------------------
// Measures of a thread

static void runs(int more)
{
	__atomic_add_fetch(&ht_measures_running, (u32)more, __ATOMIC_SEQ_CST);
	ht_mode_changed();
}

static i64 number_for(u32 place)
{
	u32 n = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
	return ((i64)n << SERIAL_SHIFT | place) + 1;
}

static i64 begin_of_thread(unsigned flags)
{
	struct ht_measures *m = mine();
	if (!m || m->depth == HEAPTAP_MEASURES)
		return HEAPTAP_FULL;
	u32 i = m->depth;
	i64 at = ht_balance_of(&m->now);
	m->nested[i].number = number_for(i);
	m->nested[i].flags = flags;
	m->nested[i].outer = m->since;
	m->nested[i].begin = m->now;
	m->since = (struct ht_extremes){at, at, 0};
	HT_FENCE();
	m->depth = i + 1;
	runs(+1);
	return m->nested[i].number;
}

static int place_of_thread(const struct ht_measures *m, i64 measure)
{
	for (u32 i = m->depth; i-- > 0;)
		if (m->nested[i].number == measure)
			return (int)i;
	return -1;
}

static void end_innermost(struct ht_measures *m)
{
	u32 i = m->depth - 1;
	struct ht_extremes e = m->nested[i].outer;
	if (m->nested[i].flags & HEAPTAP_EXCLUSIVE) {
		struct ht_totals t = difference(&m->now, &m->nested[i].begin);
		add(&m->excluded, &t, 1);
		add(&m->now, &t, ~0ull);
	} else {
		take_in(&e, &m->since);
	}
	m->since = e;
	m->depth = i;
	runs(-1);
}

static int read_of_thread(const struct ht_measures *m, u32 place, struct heaptap_measured *out, size_t size)
{
	struct ht_totals now = m->now;
	struct ht_extremes since = m->since;
	for (u32 i = m->depth - 1; i > place; i--) {
		struct ht_extremes e = m->nested[i].outer;
		if (m->nested[i].flags & HEAPTAP_EXCLUSIVE)
			now = m->nested[i].begin;
		else
			take_in(&e, &since);
		since = e;
	}
	return give(out, size, &m->nested[place].begin, &now, &since, ht_balance_of(&m->nested[place].begin));
}

// ---------------------------------------------------------------------------------------------------------------------
// Measures of the process

static i64 begin_of_process(void)
{
	u32 i;
	i64 number = number_for(HEAPTAP_MEASURES), taken = 0;
	for (i = 0; i < HEAPTAP_MEASURES; i++) {
		taken = 0;
		if (__atomic_compare_exchange_n(&common[i].number, &taken, -1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
	}
	if (i == HEAPTAP_MEASURES)
		return HEAPTAP_FULL;
	runs(+1);
	common[i].balance = ht_load(&balance);
	// other threads may still be updating the measure that was in this place
	ht_store(&common[i].since.highest, common[i].balance);
	ht_store(&common[i].since.lowest, common[i].balance);
	ht_store(&common[i].since.largest, 0);
	__atomic_fetch_or(&ht_measures_common, 1u << i, __ATOMIC_SEQ_CST);
	common[i].begin = of_all_threads();
	ht_store_release(&common[i].number, number);
	return number;
}

static int place_of_process(i64 measure)
{
	for (u32 i = 0; i < HEAPTAP_MEASURES; i++)
		if (ht_load_acquire(&common[i].number) == measure)
			return (int)i;
	return -1;
}

static int read_of_process(u32 i, struct heaptap_measured *out, size_t size)
{
	struct ht_totals now = of_all_threads();
	struct ht_extremes since = {ht_load(&common[i].since.highest), ht_load(&common[i].since.lowest),
				    ht_load(&common[i].since.largest)};
	return give(out, size, &common[i].begin, &now, &since, common[i].balance);
}

static int end_of_process(u32 i, i64 measure, struct heaptap_measured *out, size_t size)
{
	int r = read_of_process(i, out, size);
	if (!__atomic_compare_exchange_n(&common[i].number, &measure, -1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return HEAPTAP_INVALID;
	__atomic_fetch_and(&ht_measures_common, ~(1u << i), __ATOMIC_SEQ_CST);
	ht_store_release(&common[i].number, 0);
	runs(-1);
	return r;
}

// ---------------------------------------------------------------------------------------------------------------------

void ht_measures_leave(struct ht_measures *m)
{
	while (m->depth)
		end_innermost(m);
}

// Only the thread that forked exists. The other threads' totals remain in the process's, but their measures have ended.
void ht_measures_after_fork(void)
{
	for (struct ht_measures *m = ht_load(&all); m; m = m->next)
		if (m != ht_local.measures)
			m->depth = 0;
	ht_measures_running =
		(u32)__builtin_popcount(ht_measures_common) + (ht_local.measures ? ht_local.measures->depth : 0);
}

int64_t ht_measure_begin(unsigned flags)
{
	if (!ht_init())
		return HEAPTAP_NOT_LOADED;
	if (flags == HEAPTAP_PROCESS)
		return begin_of_process();
	return flags & ~HEAPTAP_EXCLUSIVE ? HEAPTAP_INVALID : begin_of_thread(flags);
}

int ht_measure_read(int64_t measure, struct heaptap_measured *out, size_t size)
{
	struct ht_measures *m = mine();
	int i;
	if (measure <= 0)
		return HEAPTAP_INVALID;
	if (m && (i = place_of_thread(m, measure)) >= 0)
		return read_of_thread(m, (u32)i, out, size);
	i = place_of_process(measure);
	return i < 0 ? HEAPTAP_INVALID : read_of_process((u32)i, out, size);
}

int ht_measure_end(int64_t measure, struct heaptap_measured *out, size_t size)
{
	struct ht_measures *m = mine();
	int i;
	if (measure <= 0)
		return HEAPTAP_INVALID;
	if (m && (i = place_of_thread(m, measure)) >= 0) {
		while (m->depth > (u32)i + 1)
			end_innermost(m);
		read_of_thread(m, (u32)i, out, size);
		end_innermost(m);
		return HEAPTAP_OK;
	}
	i = place_of_process(measure);
	return i < 0 ? HEAPTAP_INVALID : end_of_process((u32)i, measure, out, size);
}
