// SPDX-License-Identifier: Apache-2.0
//
// measure.h: the measures of heaptap_measure_begin and the functions around it.
#ifndef HT_MEASURE_H
#define HT_MEASURE_H

#include "base/base.h"
#include "base/sys.h"
#include "record/observer.h"
#include "record/thread.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

extern u32 ht_measures_running; // the number of measures that run, of threads and of the process

struct ht_totals {
	u64 allocations, deallocations, requested, allocated, deallocated;
};

struct ht_extremes {
	i64 highest, lowest;
	u64 largest;
};

struct ht_measures { // of a thread
	struct ht_totals now; // not counting exclusive measures that have ended
	struct ht_extremes since; // since the innermost measure began
	u32 depth;
	struct ht_measures *next; // list of all, never shortened
	struct ht_totals excluded; // the sums of exclusive measures that have ended
	struct {
		i64 number;
		unsigned flags;
		struct ht_totals begin;
		struct ht_extremes outer; // of the enclosing measure, up to this one's begin
	} nested[HEAPTAP_MEASURES];
};

// An allocation, or a deallocation, of the calling thread.
void ht_measure_allocation(u64 requested, u64 usable);
void ht_measure_deallocation(u64 usable);

// ---------------------------------------------------------------------------------------------------------------------
// The same, for a thread that has measured before

extern u32 ht_measures_common; // not 0: a measure of the whole process runs
void ht_measure_in_common(i64 by, u64 requested);

HT_INLINE i64 ht_balance_of(const struct ht_totals *t)
{
	return (i64)(ht_load(&t->allocated) - ht_load(&t->deallocated));
}

HT_INLINE void ht_raise(i64 *to, i64 value)
{
	i64 old = ht_load(to);
	while (ht_unlikely(value > old) &&
	       !__atomic_compare_exchange_n(to, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

HT_INLINE void ht_lower(i64 *to, i64 value)
{
	i64 old = ht_load(to);
	while (ht_unlikely(value < old) &&
	       !__atomic_compare_exchange_n(to, &old, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

HT_INLINE void ht_measure_allocated(struct ht_measures *m, u64 requested, u64 usable)
{
	ht_add_here(&m->now.allocations, 1);
	ht_add_here(&m->now.requested, requested);
	ht_add_here(&m->now.allocated, usable);
	ht_raise(&m->since.highest, ht_balance_of(&m->now));
	ht_raise((i64 *)&m->since.largest, (i64)requested);
	if (ht_unlikely(ht_load(&ht_measures_common)))
		ht_measure_in_common((i64)usable, requested);
}

HT_INLINE void ht_measure_deallocated(struct ht_measures *m, u64 usable)
{
	ht_add_here(&m->now.deallocations, 1);
	ht_add_here(&m->now.deallocated, usable);
	ht_lower(&m->since.lowest, ht_balance_of(&m->now));
	if (ht_unlikely(ht_load(&ht_measures_common)))
		ht_measure_in_common(-(i64)usable, 0);
}

// The thread has ended. Its totals stay, and the next thread adds to them.
void ht_measures_leave(struct ht_measures *m);
void ht_measures_after_fork(void);

// The functions of heaptap.h.
int64_t ht_measure_begin(unsigned flags);
int ht_measure_read(int64_t measure, struct heaptap_measured *out, size_t size);
int ht_measure_end(int64_t measure, struct heaptap_measured *out, size_t size);

#endif
