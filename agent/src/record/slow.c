// SPDX-License-Identifier: Apache-2.0
//
// slow.c: the slow path of events.

#include "record/slow.h"
#include "base/local.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "unwind/cct.h"
#include "unwind/modules.h"
#include "unwind/rules.h"
#include "record/mode.h"
#include "record/observer.h"
#include "record/record.h"
#include "record/thread.h"

// Returns ht_state.slow_flags after making sure that it is current: the agent may not be initialized yet, this may be a
// child that was just forked, and ht_header.control may have changed.
static u64 current_flags(void)
{
	struct ht_stream *s;
	if (!ht_init())
		return HT_SLOW_OFF | HT_SLOW_ASIDE;
	s = ht_thread_own()->stream;
	if (ht_load(&s->busy) == HT_BUSY_CONTROL)
		ht_store(&s->busy, 0);
	if (ht_unlikely(ht_load(&ht_header->control) != ht_load(&ht_state->control)))
		ht_mode_follow();
	return ht_load(&ht_state->slow_flags);
}

// The flags for an allocation of the calling thread.
HT_INLINE u64 unless_paused(u64 flags)
{
	return flags & HT_SLOW_PAUSED && ht_local.paused ? (flags & HT_SLOW_OBSERVED) | HT_SLOW_OFF : flags;
}

// While a thread is paused or serves a pool, all threads take the slow path. So they check now and then whether that
// thread has ended.
#define CHECK_EVERY 4096 // events, about
static void look_for_ended(void)
{
	static u32 events;
	u32 n = ht_load(&events) + 1;
	ht_store(&events, n);
	if (n % CHECK_EVERY == 0)
		ht_look_for_ended();
}

struct ht_thread *ht_thread_prepare(struct ht_caller c)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_likely(t != &ht_no_thread))
		return t;
	t = ht_begin(c);
	if (!t)
		return &ht_no_thread;
	ht_end(t, t->stream, (u64 *)t->at);
	return t;
}

u64 ht_slow_modes(int is_allocation)
{
	u64 flags = current_flags();
	return is_allocation ? unless_paused(flags) : flags;
}

u32 ht_small_stack(void)
{
	static u32 node;
	u32 found = ht_load(&node);
	if (ht_unlikely(!found)) {
		u32 id = ht_pc_add(HT_PC_SMALL, 0);
		if (id)
			found = ht_cct_insert(ht_cct_hash(HT_CCT_ROOT, id), 0, id);
		ht_store(&node, found);
	}
	return found;
}

// Records an allocation, or the result of a realloc. sample: the value of HT_X_SAMPLED, or 0.
static void record(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, u64 sample, struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	u32 stack = p && size < ht_header->stack_min ? ht_small_stack() : ht_capture(&t->memo, c.pc, c.sp, c.fp);
	if (sample)
		t->at = (u64)ht_put_extra((u64 *)t->at, HT_X_SAMPLED, sample); // published with the record
	if (ht_unlikely(ht_local.serves) && p)
		t->at = (u64)ht_put_extra((u64 *)t->at, HT_X_POOL, ht_local.serves);
	ht_write_stacked(t, kind, (u64)p, size, p ? ht_usable(p) : size, extra_kind, extra, stack);
	if (ht_unlikely(c.sp < t->deep))
		ht_deeper(c);
}

static void record_sample(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	ht_filter_add(p);
	record(kind, p, size, extra_kind, extra, ht_header->sample, c);
}

// Whether this block is a pool's backing. Then it and its end are recorded in every mode.
static int serves(u64 flags, const void *p)
{
	if (!(flags & HT_SLOW_SERVING) || !ht_local.serves || !p)
		return 0;
	if (flags & (HT_SLOW_SAMPLED | HT_SLOW_COUNT | HT_SLOW_OFF))
		ht_filter_add(p);
	return 1;
}

static void allocation(u64 flags, u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	if (flags & HT_SLOW_COUNT) {
		ht_count_allocation(ht_thread_prepare(c), kind, (void *)p, size);
	} else if (flags & HT_SLOW_OFF) {
		if (flags == HT_SLOW_OFF)
			ht_thread_prepare(c);
	} else if (flags & HT_SLOW_SAMPLED && p) {
		if (ht_sample_is_due(size) && ht_sample_draw(size))
			record_sample(kind, p, size, extra_kind, extra, c);
		else
			ht_thread_prepare(c);
	} else {
		record(kind, p, size, extra_kind, extra, 0, c);
	}
}

void ht_slow_allocation(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	u64 flags = current_flags();
	if (flags & (HT_SLOW_PAUSED | HT_SLOW_SERVING))
		look_for_ended();
	if (flags & HT_SLOW_WAIT)
		flags = ht_mode_wait(1);
	if (ht_unlikely(serves(flags, p)))
		record(kind, p, size, extra_kind, extra, 0, c);
	else
		allocation(unless_paused(flags), kind, p, size, extra_kind, extra, c);
	if (flags & HT_SLOW_OBSERVED && p)
		ht_observe_allocation(flags, size, ht_usable(p), p);
	if (flags & HT_SLOW_THRESHOLD && p)
		ht_threshold_allocation(p, size, ht_usable(p), c);
}

void *ht_sampled_allocated(u64 kind, void *p, u64 size, const u64 *frame)
{
	u64 flags = current_flags(); // it seldom changes; then the draw is wasted
	if (flags != HT_SLOW_SAMPLED)
		ht_slow_allocation(kind, p, size, 0, 0, ht_caller_of(frame));
	else if (ht_sample_draw(size))
		record_sample(kind, p, size, 0, 0, ht_caller_of(frame));
	return p;
}

// Unloading a module ends with a deallocation. It needs no record, but later call stacks must not be attributed to a
// module that is gone.
static HT_NOINLINE void look_for_unloaded(struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c); // this checks for unloaded modules
	if (t)
		ht_end(t, t->stream, (u64 *)t->at);
}

struct ht_begun ht_slow_deallocation(u64 kind, const void *p, struct ht_caller c)
{
	struct ht_begun begun = {1, ~0ull};
	u64 flags = current_flags();
	if (flags & HT_SLOW_WAIT)
		flags = ht_mode_wait(0);
	if (flags & HT_SLOW_COUNT)
		ht_count_deallocation(ht_thread_prepare(c), kind, (void *)p);
	if (!(flags & (HT_SLOW_SAMPLED | HT_SLOW_COUNT | HT_SLOW_OFF)) || ht_filter_take(p)) {
		ht_record_short(kind, p, c);
	} else {
		begun.recorded = 0;
		if (ht_unlikely(ht_in_loader(c.pc)))
			look_for_unloaded(c);
	}
	if (flags & HT_SLOW_OBSERVED) {
		begun.usable = ht_usable(p);
		ht_observe_deallocation(flags, kind, begun.usable, p);
	}
	if (flags & HT_SLOW_THRESHOLD) {
		begun.usable = ht_usable(p);
		if (kind != HT_K_REALLOC_BEGIN)
			ht_threshold_deallocation(begun.usable);
	}
	return begun;
}

// Records what must be recorded of a realloc's result.
static void result(u64 flags, u64 kind, const void *old, const void *p, u64 size, u64 extra_kind, u64 extra, u64 begun,
		   struct ht_caller c)
{
	if (ht_unlikely(serves(flags, p))) {
		record(kind, p, size, extra_kind, extra, 0, c);
		return;
	}
	flags = unless_paused(flags);
	int failed = !p && size, recorded = !(flags & (HT_SLOW_SAMPLED | HT_SLOW_COUNT | HT_SLOW_OFF));
	if (begun && failed && !recorded)
		ht_filter_add(old); // it stays live
	if (flags & HT_SLOW_COUNT)
		ht_count_allocation(ht_thread_prepare(c), kind, (void *)p, size);
	if (flags & HT_SLOW_SAMPLED && p && ht_sample_is_due(size) && ht_sample_draw(size))
		record_sample(kind, p, size, extra_kind, extra, c);
	else if (recorded || (failed && (begun || flags & HT_SLOW_SAMPLED)))
		record(kind, p, size, extra_kind, extra, 0, c);
	else if (begun)
		record(kind, 0, 0, 0, 0, 0, c); // the old block is gone, and nothing is known of the new one
}

// A monitor may ask for the recorded stack (heaptap_stack), so recording comes first.
void ht_slow_result(u64 kind, const void *old, const void *p, u64 size, u64 extra_kind, u64 extra,
		    struct ht_begun begun, struct ht_caller c)
{
	u64 flags = current_flags();
	if (flags & HT_SLOW_WAIT)
		flags = ht_mode_wait(1);
	result(flags, kind, old, p, size, extra_kind, extra, begun.recorded, c);
	if (flags & HT_SLOW_OBSERVED)
		ht_observe_result(flags, old, begun.usable, size, p);
	if (flags & HT_SLOW_THRESHOLD && (p || !size) && old)
		ht_threshold_deallocation(begun.usable);
	if (flags & HT_SLOW_THRESHOLD && p)
		ht_threshold_allocation(p, size, ht_usable(p), c);
}

int ht_slow_failure(u64 kind, u64 size)
{
	u64 flags = unless_paused(current_flags());
	if (flags & HT_SLOW_COUNT)
		ht_count_allocation(ht_local.thread, kind, 0, size);
	return !(flags & (HT_SLOW_COUNT | HT_SLOW_OFF));
}

int ht_slow_records(void)
{
	return !(unless_paused(current_flags()) & (HT_SLOW_COUNT | HT_SLOW_OFF));
}
