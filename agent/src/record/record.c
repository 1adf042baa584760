// SPDX-License-Identifier: Apache-2.0
//
// record.c: what the fast path of record.h leaves to functions.

#include "record/record.h"
#include "base/local.h"
#include "spool/arrays.h"
#include "unwind/modules.h"
#include "record/real.h"
#include "record/thread.h"

// More ticks than an event takes by itself. If it took more, the thread was interrupted, or did what is done once for
// each call stack.
#define TOO_LONG 50000

// Called when an event that began at `begin` has ended. Signal handlers may run in between and time events of their
// own.
static void timed(struct ht_thread *t, u64 begin, enum ht_counter ticks)
{
	u64 end = ht_clock(), read = ht_clock() - end; // the time of reading the clock once more than other events do
	u64 took = end - begin;
	if (t->timed && --t->timed == 0)
		t->fast_limit = ht_glibc ? t->limit : 0;
	if (t->timed >= HT_TIMED - HT_TIMED_COLD || took < read || took > TOO_LONG)
		return;
	ht_count_by(ticks, took - read);
	ht_count(ticks + 1);
}

HT_NOINLINE void *ht_allocated(u64 kind, void *p, u64 size, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	if (p && ht_is_nested(ht_caller_of(frame)))
		return p; // no event, and not timed as one
	u64 begin = ht_unlikely(t->timed) ? ht_clock() : 0;
	ht_record_allocation(kind, p, size, 0, 0, ht_caller_of(frame));
	if (ht_unlikely(begin))
		timed(t, begin, HT_C_ALLOC_TICKS);
	return p;
}

HT_NOINLINE void *ht_allocated_finish(struct ht_thread *t, void *p, const u64 *frame)
{
	struct ht_stacked *w = (struct ht_stacked *)t->at;
	if (ht_unlikely(ht_in_loader(frame[1])))
		ht_modules_check();
	w->stack = ht_walk(&t->memo, frame[1], (u64)(frame + 2), frame[0]);
	if (ht_unlikely(w->time < ht_load(&ht_module_met)))
		w->time = ht_clock();
	ht_end(t, t->stream, (u64 *)(w + 1));
	if (ht_unlikely((u64)(frame + 2) < t->deep))
		ht_deeper(ht_caller_of(frame));
	return p;
}

HT_NOINLINE void *ht_deallocated(u64 kind, void *p, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	u64 begin = 0;
	if (!ht_is_nested(ht_caller_of(frame))) {
		begin = ht_unlikely(t->timed) ? ht_clock() : 0;
		ht_record_deallocation(kind, p, ht_caller_of(frame));
	}
	if (ht_unlikely(ht_dealloc_hint.block == p))
		ht_dealloc_hint.block = 0; // it was not recorded, and the next block at this address has its own hint
	if (ht_unlikely(begin))
		timed(t, begin, HT_C_FREE_TICKS);
	return p;
}

u32 ht_stack_of(struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c);
	u32 node = t ? ht_capture(&t->memo, c.pc, c.sp, c.fp) : 0;
	if (t)
		ht_end(t, t->stream, (u64 *)t->at);
	return node;
}
