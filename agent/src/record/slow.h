// SPDX-License-Identifier: Apache-2.0
//
// slow.h: the slow path of events, for everything beyond plain exact mode: sampled and count mode, recording that is
// off, --stack-min, monitors and so on.
//
// In plain exact mode this is never reached and costs nothing: the fast paths of record.h test one word,
// ht_state.common. It is also 0 in a forked child that has not noticed the fork yet. Then ht_state.slow_flags says what
// to do.
#ifndef HT_SLOW_H
#define HT_SLOW_H

#include "base/base.h"
#include "base/local.h"
#include "base/state.h"
#include "record/thread.h"

// At most one of these is set. The fast paths of record.h handle it if nothing else is set.
#define HT_SLOW_SAMPLED 1ull
#define HT_SLOW_COUNT 2ull
#define HT_SLOW_OFF 4ull
#define HT_SLOW_ALONE 4ull // the highest of them
#define HT_SLOW_STACK_MIN 8ull // the header says from which size
#define HT_SLOW_WAIT 16ull // for HEAPTAP_START_AFTER or HEAPTAP_STOP_AFTER
#define HT_SLOW_PAUSED 32ull // some thread is paused, see ht_local.paused
#define HT_SLOW_MEASURE 64ull // the program measures
#define HT_SLOW_MONITOR 128ull // the program has registered monitors
#define HT_SLOW_OBSERVED (HT_SLOW_MEASURE | HT_SLOW_MONITOR)
#define HT_SLOW_THRESHOLD 256ull // see threshold.c
#define HT_SLOW_SERVING 512ull // some thread's allocations serve a pool, see ht_local.serves
#define HT_SLOW_ONLY_OBSERVED 2048ull // no flags are set but HT_SLOW_OBSERVED
#define HT_SLOW_ASIDE 1024ull // the agent is not up, or has stepped aside

// Whether the event must take the functions below.
HT_INLINE int ht_has_slow_flags(void)
{
	return ht_unlikely(!ht_load(&ht_state->common)) ||
	       ht_unlikely(ht_load(&ht_local.thread->stream->busy) == HT_BUSY_CONTROL);
}

// Record an event of which nothing has been done yet, like the functions of record.h with similar names.
HT_NOINLINE void ht_slow_allocation(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c);
// A deallocation, or the begin of a realloc.
struct ht_begun {
	u64 recorded; // not 0: the result must be recorded
	u64 usable; // of the old block; ~0: not asked for
};
HT_NOINLINE struct ht_begun ht_slow_deallocation(u64 kind, const void *p, struct ht_caller c);
// The result of a realloc.
HT_NOINLINE void ht_slow_result(u64 kind, const void *old, const void *p, u64 size, u64 extra_kind, u64 extra,
				struct ht_begun begun, struct ht_caller c);
// Whether an operator new that failed is to be recorded.
HT_COLD int ht_slow_failure(u64 kind, u64 size);
// Returns the calling thread's state. Makes one if it has none, so that its next event can take the fast path.
// ht_no_thread if there is no room.
struct ht_thread *ht_thread_prepare(struct ht_caller c);
// Returns the flags for an event of a pool. An allocation (is_allocation) may be paused in this thread.
HT_COLD u64 ht_slow_modes(int is_allocation);
// Returns the stack id that all allocations below --stack-min share.
u32 ht_small_stack(void);
// Whether mapping changes are recorded.
HT_COLD int ht_slow_records(void);

// ---------------------------------------------------------------------------------------------------------------------
// sampled.c

// Whether the sample is due with this allocation. Must be called once for each block that was allocated.
HT_INLINE int ht_sample_is_due(u64 size)
{
	size &= ht_state->size_mask;
	size += size < 1;
	return ht_unlikely((ht_local.budget -= (i64)size) < 0);
}
// Called when it is due: draws the next budget. Returns 0 if the thread had none before and this allocation is not
// chosen.
HT_NOINLINE int ht_sample_draw(u64 size);
// Records an allocation whose sample is due. Returns p.
HT_NOINLINE void *ht_sampled_allocated(u64 kind, void *p, u64 size, const u64 *frame);
// Prepares the draws for ht_header.sample.
void ht_sample_init(void);
void ht_sample_after_fork(void);

// A counting filter of recorded blocks, by a hash of their addresses: a block that is not in it was not recorded. A
// count that has reached HT_FILTER_FULL stays there, and all blocks with its hash count as recorded.
#define HT_FILTER_BITS 14
#define HT_FILTER_SLOTS 8
#define HT_FILTER_FULL 255
extern __attribute__((visibility("hidden"))) u8 ht_filter[1 << HT_FILTER_BITS];
HT_INLINE u64 ht_filter_index(const void *p)
{
	return (u32)(u64)p * 0x9e3779b1u >> (32 - HT_FILTER_BITS);
}
HT_INLINE int ht_filter_may_hold(const void *p)
{
	return ht_filter[ht_filter_index(p)] != 0; // without ht_load, so that the compiler compares it in memory
}
void ht_filter_add(const void *p);
// Removes a block. Returns whether it was in the filter.
int ht_filter_take(const void *p);
// Whether a block was ever added.
int ht_filter_is_used(void);
// From now on, all blocks count as recorded.
void ht_filter_saturate(void);

// ---------------------------------------------------------------------------------------------------------------------
// counts.c

// The result may be HT_SIZE_CLASSES or more.
HT_INLINE u64 ht_size_class(u64 size)
{
	return 63 - (u64)__builtin_clzll(size << 1 | 1);
}
// Counts an allocation that returned a block.
HT_INLINE void ht_count_block(struct ht_counts *c, u64 kind, u64 size, u64 usable)
{
	struct ht_counts_row *row = &c->rows[kind & 31];
	u64 class = ht_size_class(size);
	row->calls++;
	row->bytes += size;
	row->usable += usable;
	row->sizes[class < HT_SIZE_CLASSES ? class : HT_SIZE_CLASSES - 1]++;
}
// Counts a deallocation.
HT_INLINE void ht_count_freed(struct ht_counts *c, u64 kind, u64 usable)
{
	struct ht_counts_row *row = &c->rows[HT_K_STACKED | (kind & 31)];
	row->calls++;
	row->usable += usable;
}
// The same for a thread that may have no counts yet, and for an allocation that may have failed. Both return p.
HT_NOINLINE void *ht_count_allocation(struct ht_thread *t, u64 kind, void *p, u64 size);
HT_NOINLINE void *ht_count_deallocation(struct ht_thread *t, u64 kind, void *p);
// The state, which has counts already, now belongs to another thread.
void ht_counts_enter(struct ht_thread *t);
// Called when the thread has ended and another one will use its state.
void ht_counts_leave(struct ht_thread *t);
// Returns where the thread counts calls of this kind; null if there is no room.
struct ht_counts_row *ht_counts_row(struct ht_thread *t, u64 kind);

#endif
