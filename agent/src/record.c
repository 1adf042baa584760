// SPDX-License-Identifier: Apache-2.0
//
// record.c: what the short way of record.h leaves to others.

#include "record.h"

HT_NOINLINE void *ht_allocated(u64 kind, void *p, u64 size, const u64 *frame)
{
	ht_record_allocation(kind, p, size, 0, 0, ht_caller_of(frame));
	return p;
}

HT_NOINLINE void *ht_allocated_elsewhere(struct ht_thread *t, void *p, const u64 *frame)
{
	struct ht_stacked *w = (struct ht_stacked *)t->at;
	if (ht_unlikely(ht_in_loader(frame[1])))
		ht_modules_check();
	w->stack = ht_walk(&t->memo, frame[1], (u64)(frame + 2), frame[0]);
	w->time = ht_clock();
	ht_end(t, t->stream, (u64 *)(w + 1));
	return p;
}

HT_NOINLINE void *ht_deallocated(u64 kind, void *p, const u64 *frame)
{
	ht_record_deallocation(kind, p, ht_caller_of(frame));
	return p;
}
