// SPDX-License-Identifier: Apache-2.0
//
// observe.c: implements observe.h.
//
// A thread does not hide its measures from its signal handlers: what these allocate in between counts, too.

#include "observe/observe.h"
#include "base/arch_amd64.h"
#include "base/local.h"
#include "base/state.h"
#include "record/observer.h"
#include "record/real.h"
#include "record/record.h"
#include "record/thread.h"
#include "observe/measure.h"
#include "observe/monitor.h"

void ht_observe_allocation(u64 flags, u64 size, u64 usable, const void *p)
{
	if (ht_local.hidden)
		return;
	if (usable == ~0ull)
		usable = size;
	if (flags & HT_SLOW_MEASURE)
		ht_measure_allocation(size, usable);
	if (flags & HT_SLOW_MONITOR)
		ht_monitor_allocation(size, usable, p);
}

// Whether a realloc succeeds is known only afterwards. But monitors track blocks by address, and another thread may get
// this address as soon as it is free.
void ht_observe_deallocation(u64 flags, u64 kind, u64 usable, const void *p)
{
	if (ht_local.hidden)
		return;
	if (usable == ~0ull)
		usable = 0;
	if (flags & HT_SLOW_MEASURE && kind != HT_K_REALLOC_BEGIN)
		ht_measure_deallocation(usable);
	if (flags & HT_SLOW_MONITOR)
		ht_monitor_deallocation(usable, p);
}

void ht_observe_result(u64 flags, const void *old, u64 old_usable, u64 size, const void *p)
{
	int was = old && old_usable != ~0ull, failed = !p && size;
	if (ht_local.hidden)
		return;
	if (failed && was && flags & HT_SLOW_MONITOR)
		ht_monitor_allocation(old_usable, old_usable, old);
	if (!failed && was && flags & HT_SLOW_MEASURE)
		ht_measure_deallocation(old_usable);
	if (p)
		ht_observe_allocation(flags, size, ht_usable(p), p);
}

// ---------------------------------------------------------------------------------------------------------------------
// Events of glibc's blocks, while no other flags are set

#define MONITORS (HT_SLOW_ONLY_OBSERVED | HT_SLOW_MONITOR)
#define MEASURES (HT_SLOW_ONLY_OBSERVED | HT_SLOW_MEASURE)

// Records an allocation as ht_record_common_allocation does, as far as that is possible here.
enum recorded {
	SLOW_PATH, // nothing is recorded: take the slow path
	STACK_MISSING, // ht_allocated_finish must find the call stack
	RECORDED,
};
HT_INLINE enum recorded record_allocation(struct ht_thread *t, u64 kind, void *p, u64 size, struct ht_caller c)
{
	struct ht_stream *s = t->stream;
	struct ht_stacked *w;
	u64 word, slack;
	if (ht_unlikely(!p) || ht_unlikely(ht_load(&ht_state->generation) != t->memo.generation))
		return SLOW_PATH;
	ht_store(&s->busy, c.sp);
	HT_FENCE();
	w = (struct ht_stacked *)t->at;
	if (ht_unlikely((u64)w > t->fast_limit))
		goto undo;
	ht_clock_to(&w->time);
	ht_will_write(w + HT_AHEAD);
	word = ((const u64 *)p)[-1]; // see ht_usable_by_header
	slack = (word & ~7ull) - 8 - size;
	if (ht_unlikely(slack >= HT_SLACK_EXTRA) || ht_unlikely(word & (~0ull << 32 | 2)))
		goto undo;
	w->first = (u64)p | kind << HT_KIND_SHIFT | slack << HT_SLACK_SHIFT;
	w->size = (u32)size;
	const struct ht_frame *leaf = ht_memo_same(&t->memo, c.pc, c.sp, c.fp);
	if (ht_unlikely(!leaf))
		return STACK_MISSING;
	w->stack = leaf->node;
	ht_end(t, s, (u64 *)(w + 1));
	return RECORDED;
undo:
	ht_store(&s->busy, 0);
	return SLOW_PATH;
}

// Observes a block that was recorded and is not a mapping of its own. `what` is ht_state.slow_flags.
HT_INLINE void observe_block(u64 what, struct ht_thread *t, u64 size, const void *p)
{
	u64 usable = (((const u64 *)p)[-1] & ~7ull) - 8;
	if (ht_unlikely(t->local->hidden))
		return;
	if (what == MONITORS) {
		int saved;
		u32 bits = ht_monitor_begin(t, &saved);
		const struct heaptap_monitor *first = &ht_monitors.places[0].monitor;
		if (ht_likely(bits == 1))
			first->allocated(size, usable, p, first->user);
		else
			ht_monitor_call_allocated(bits, size, usable, p);
		ht_monitor_end(saved);
	} else if (what == MEASURES && ht_likely(t->measures != 0)) {
		ht_measure_allocated(t->measures, size, usable);
	} else {
		ht_observe_allocation(what, size, usable, p);
	}
}

HT_INLINE void observe_freed(u64 what, struct ht_thread *t, const void *p)
{
	u64 usable = ht_usable_by_header(p);
	if (ht_unlikely(t->local->hidden))
		return;
	if (what == MONITORS) {
		int saved;
		u32 bits = ht_monitor_begin(t, &saved);
		const struct heaptap_monitor *first = &ht_monitors.places[0].monitor;
		if (ht_likely(bits == 1))
			first->deallocated(usable, p, first->user);
		else
			ht_monitor_call_deallocated(bits, usable, p);
		ht_monitor_end(saved);
	} else if (what == MEASURES && ht_likely(t->measures != 0)) {
		ht_measure_deallocated(t->measures, usable);
	} else {
		ht_observe_deallocation(what, HT_K_FREE, usable, p);
	}
}

void *ht_observed_allocated(u64 kind, void *p, u64 size, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	enum recorded r = record_allocation(t, kind, p, size, ht_caller_of(frame));
	if (ht_unlikely(r == SLOW_PATH))
		return ht_allocated(kind, p, size, frame);
	if (ht_unlikely(r == STACK_MISSING))
		ht_allocated_finish(t, p, frame);
	observe_block(ht_load(&ht_state->slow_flags), t, size, p);
	return p;
}

void *ht_observed_deallocated(u64 kind, void *p, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_unlikely(ht_state->free_stacks) || !ht_record_plain_deallocation(kind, p, frame[1], (u64)(frame + 2)))
		return ht_deallocated(kind, p, frame);
	observe_freed(ht_load(&ht_state->slow_flags), t, p);
	return p;
}

// ---------------------------------------------------------------------------------------------------------------------
// In place of the hooks

HT_INLINE void *observed_malloc(u64 what, size_t size)
{
	volatile size_t kept = size; // see malloc
	void *p = ht_real.malloc(size);
	struct ht_thread *t = ht_local.thread;
	enum recorded r = SLOW_PATH;
	if (ht_likely((ht_local.operator.sp | t->stream->busy) == 0) &&
	    ht_likely(ht_load(&ht_state->slow_flags) == what))
		r = record_allocation(t, HT_K_MALLOC, p, kept, HT_CALLER());
	if (ht_unlikely(r == SLOW_PATH)) {
		p = ht_allocated(HT_K_MALLOC, p, kept, HT_FRAME());
		HT_KEEP_FRAME(p);
		return p;
	}
	if (ht_unlikely(r == STACK_MISSING)) {
		ht_allocated_finish(t, p, HT_FRAME());
		t = ht_thread_again();
		if (ht_unlikely(t == &ht_no_thread)) // a handler has forked, and has had no event
			return p;
	}
	observe_block(what, t, kept, p);
	return p;
}

void *ht_monitored_malloc(size_t size)
{
	return observed_malloc(MONITORS, size);
}

void *ht_measured_malloc(size_t size)
{
	return observed_malloc(MEASURES, size);
}

// Uncommon cases, and null.
static HT_NOINLINE void free_uncommon(void *p)
{
	if (p)
		p = ht_record_common_deallocation(HT_K_FREE, p, HT_FRAME());
	ht_real.free(p);
}

HT_INLINE void observed_free(u64 what, void *p, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_unlikely(!p) || ht_unlikely(!ht_record_plain_deallocation(HT_K_FREE, p, frame[1], (u64)(frame + 2)))) {
		free_uncommon(p);
		return;
	}
	observe_freed(what, t, p);
	ht_real.free(p);
}

void ht_monitored_free(void *p)
{
	observed_free(MONITORS, p, HT_FRAME());
}

void ht_measured_free(void *p)
{
	observed_free(MEASURES, p, HT_FRAME());
}

void *ht_observed_calloc(size_t count, size_t size)
{
	u64 total;
	void *p = ht_real.calloc(count, size);
	if (__builtin_mul_overflow((u64)count, (u64)size, &total))
		total = ~0ull;
	if (count <= 1 || size <= 1)
		return ht_record_common_allocation(HT_K_CALLOC, p, total);
	ht_record_allocation(HT_K_CALLOC, p, total, HT_X_COUNT, count, HT_CALLER());
	return p;
}
