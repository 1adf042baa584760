// SPDX-License-Identifier: Apache-2.0
//
// special.h: events when not all of them are recorded in the plain way: in sampled or count mode, while recording is off, with
// --stack-min.
//
// In plain exact mode nothing here is reached, and costs nothing: the short ways of record.h test one word, ht_state.common,
// which is 0 also in a forked child that has not noticed yet. Then ht_state.special says what is to be done.
#ifndef HT_SPECIAL_H
#define HT_SPECIAL_H

#include "agent.h"

// One of these at most. The short ways of record.h cope with them, if nothing else is set.
#define HT_SP_SAMPLED 1ull
#define HT_SP_COUNT 2ull
#define HT_SP_OFF 4ull
#define HT_SP_ALONE 4ull // the highest of them
#define HT_SP_STACK_MIN 8ull // the header says from which size
#define HT_SP_WAIT 16ull // for HEAPTAP_START_AFTER or HEAPTAP_STOP_AFTER
#define HT_SP_PAUSED 32ull // some thread, see ht_local.paused
#define HT_SP_MEASURE 64ull // the program measures
#define HT_SP_MONITOR 128ull // the program has registered monitors
#define HT_SP_TOLD (HT_SP_MEASURE | HT_SP_MONITOR)
#define HT_SP_THRESHOLD 256ull // see threshold.c
#define HT_SP_SERVING 512ull // what some thread allocates serves a pool, see ht_local.serves
#define HT_SP_ONLY_TOLD 2048ull // nothing else is special but that measures or monitors are told
#define HT_SP_ASIDE 1024ull // the agent is not up, or has stepped aside

// Must the functions below be asked?
HT_INLINE int ht_is_special(void)
{
	return ht_unlikely(!ht_load(&ht_state->common)) ||
	       ht_unlikely(ht_load(&ht_local.thread->stream->busy) == HT_BUSY_CONTROL);
}

// An event, of which nothing has been done yet: as the functions of record.h whose names they bear.
HT_NOINLINE void ht_special_allocation(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra,
				       struct ht_caller c);
// Also the begin of a realloc.
struct ht_begun {
	u64 recorded; // not 0: there must be a result
	u64 usable; // of the old block; ~0: not asked for
};
HT_NOINLINE struct ht_begun ht_special_deallocation(u64 kind, const void *p, struct ht_caller c);
// The result of a realloc.
HT_NOINLINE void ht_special_result(u64 kind, const void *old, const void *p, u64 size, u64 extra_kind, u64 extra,
				   struct ht_begun begun, struct ht_caller c);
// Is an operator new that failed to be recorded?
HT_COLD int ht_special_failure(u64 kind, u64 size);
// The calling thread's state; it gets one if it has none, so that its next event finds the short way. ht_no_thread if there
// is no room.
struct ht_thread *ht_appear(struct ht_caller c);
// What holds for an event of which nothing else is asked here; `anew`: it is an allocation, which the thread may have paused.
HT_COLD u64 ht_special_modes(int anew);
// The stack that stands for those of all small allocations.
u32 ht_small_stack(void);
// Are mapping changes recorded?
HT_COLD int ht_special_records(void);

// ---------------------------------------------------------------------------------------------------------------------
// sampled.c

// Is the sample due with this allocation? Asked once for each, of blocks that are there.
HT_INLINE int ht_sample_is_due(u64 size)
{
	size &= ht_state->size_mask;
	size += size < 1;
	return ht_unlikely((ht_local.budget -= (i64)size) < 0);
}
// It is due: draws the next one. 0: the thread had none yet, and this is not the one.
HT_NOINLINE int ht_sample_draw(u64 size);
// The whole of an allocation's event whose sample is due. Returns p.
HT_NOINLINE void *ht_sampled_allocated(u64 kind, void *p, u64 size, const u64 *frame);
// Reckons ht_header.sample for the draws.
void ht_sample_init(void);
void ht_sample_after_fork(void);

// Which blocks have been recorded, by a hash of their addresses: a block that is not held was not. A count that has reached
// HT_FILTER_FULL stays, and its blocks are always said to be held.
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
	return ht_filter[ht_filter_index(p)] != 0; // not ht_load: so that the compiler compares it where it lies
}
void ht_filter_add(const void *p);
// Is it held? Then it is no longer.
int ht_filter_take(const void *p);
// Has it ever held one?
int ht_filter_is_used(void);
// All blocks are held, for ever.
void ht_filter_saturate(void);

// ---------------------------------------------------------------------------------------------------------------------
// counts.c

// May be HT_SIZE_CLASSES and more.
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
// The same for a thread that may have no counts yet, and of an allocation that may have failed; both return p.
HT_NOINLINE void *ht_count_allocation(struct ht_thread *t, u64 kind, void *p, u64 size);
HT_NOINLINE void *ht_count_deallocation(struct ht_thread *t, u64 kind, void *p);
// The thread, whose state has counts already, is another one now.
void ht_counts_enter(struct ht_thread *t);
// The thread has ended: its state will serve another one.
void ht_counts_leave(struct ht_thread *t);
// Where the thread counts calls of this kind; null if there is no room.
struct ht_counts_row *ht_counts_row(struct ht_thread *t, u64 kind);

#endif
