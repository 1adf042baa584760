// SPDX-License-Identifier: Apache-2.0
//
// fast_hooks.c: implements fast_hooks.h.
//
// A change of ht_header.control is noticed by the next malloc or calloc. Uncommon cases are left to functions with a
// frame of their own, which take the slow path of record.h. The hooks jump to them, so that the hook's caller is
// directly above that frame.

#include "hooks/fast_hooks.h"
#include "base/arch_amd64.h"
#include "base/local.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "unwind/modules.h"
#include "record/observer.h"
#include "record/real.h"
#include "record/record.h"
#include "observe/observe.h"
#include "hooks/timed.h"

struct ht_fast_hooks ht_fast_hooks;

// ---------------------------------------------------------------------------------------------------------------------
// The slow path

static HT_NOINLINE void *slow_malloc(size_t size)
{
	void *p = ht_real.malloc(size);
	p = ht_allocated(HT_K_MALLOC, p, size, HT_FRAME());
	HT_KEEP_FRAME(p);
	return p;
}

// The real function has already returned this.
static HT_NOINLINE void *end_malloc(void *p, size_t size)
{
	p = ht_allocated(HT_K_MALLOC, p, size, HT_FRAME());
	HT_KEEP_FRAME(p);
	return p;
}

HT_INLINE void *record_calloc(void *p, u64 count, u64 size, const u64 *frame)
{
	u64 total;
	if (__builtin_mul_overflow(count, size, &total))
		total = ~0ull;
	if (count <= 1 || size <= 1)
		p = ht_allocated(HT_K_CALLOC, p, total, frame);
	else
		ht_record_allocation(HT_K_CALLOC, p, total, HT_X_COUNT, count, ht_caller_of(frame));
	HT_KEEP_FRAME(p);
	return p;
}

static HT_NOINLINE void *slow_calloc(size_t count, size_t size)
{
	return record_calloc(ht_real.calloc(count, size), count, size, HT_FRAME());
}

static HT_NOINLINE void *end_calloc(void *p, size_t count, size_t size)
{
	return record_calloc(p, count, size, HT_FRAME());
}

static HT_NOINLINE void slow_free(void *p)
{
	if (p)
		p = ht_deallocated(HT_K_FREE, p, HT_FRAME());
	ht_real.free(p);
}

// Whether the mode has changed. (Without ht_load, so that the compiler compares the words in memory.)
HT_INLINE int has_changed(void)
{
	return ht_unlikely(ht_header->control != ht_state->control);
}

// Whether the mode is unchanged and no operator is running whose event this call may be part of.
HT_INLINE int is_common(void)
{
	return !has_changed() && ht_likely(ht_local.operator.sp == 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Sampled: see sampled.c. The budget is charged before it is known whether the call will fail, and refunded if it does.
// It is also refunded if the sample is due, because the slow path charges it again.

HT_INLINE int is_due(u64 size, int by_calls)
{
	return ht_unlikely(ht_take_here(&ht_local.budget, by_calls ? 1 : size));
}

static void give_back(u64 size)
{
	size &= ht_state->size_mask;
	ht_local.budget = (i64)((u64)ht_local.budget + size + (size < 1));
}

static HT_NOINLINE void *due_malloc(size_t size)
{
	give_back(size);
	void *p = ht_real.malloc(size);
	p = ht_allocated(HT_K_MALLOC, p, size, HT_FRAME());
	HT_KEEP_FRAME(p);
	return p;
}

static HT_NOINLINE void *sampled_failed_malloc(size_t size)
{
	give_back(size);
	void *p = ht_allocated(HT_K_MALLOC, 0, size, HT_FRAME());
	HT_KEEP_FRAME(p);
	return p;
}

static HT_NOINLINE void *due_calloc(size_t count, size_t size)
{
	give_back(count * size);
	return record_calloc(ht_real.calloc(count, size), count, size, HT_FRAME());
}

static HT_NOINLINE void *sampled_failed_calloc(size_t count, size_t size)
{
	give_back(count * size);
	return record_calloc(0, count, size, HT_FRAME());
}

HT_INLINE void *sampled_malloc(size_t size, int by_calls)
{
	if (!is_common())
		return slow_malloc(size);
	if (is_due(size, by_calls))
		return due_malloc(size);
	void *p = ht_real.malloc(size);
	return ht_likely(p != 0) ? p : sampled_failed_malloc(size);
}

HT_INLINE void *sampled_calloc(size_t count, size_t size, int by_calls)
{
	u64 total;
	if (!is_common() || ht_unlikely(__builtin_mul_overflow((u64)count, (u64)size, &total)))
		return slow_calloc(count, size);
	if (is_due(total, by_calls))
		return due_calloc(count, size);
	void *p = ht_real.calloc(count, size);
	return ht_likely(p != 0) ? p : sampled_failed_calloc(count, size);
}

HT_FRAMELESS static void *bytes_malloc(size_t size)
{
	return sampled_malloc(size, 0);
}

HT_FRAMELESS static void *calls_malloc(size_t size)
{
	return sampled_malloc(size, 1);
}

HT_FRAMELESS static void *bytes_calloc(size_t count, size_t size)
{
	return sampled_calloc(count, size, 0);
}

HT_FRAMELESS static void *calls_calloc(size_t count, size_t size)
{
	return sampled_calloc(count, size, 1);
}

// Whether the deallocation must take the slow path: if the block was recorded (blocks that a running operator frees
// itself no longer count), or if the loader frees, since a module may have been unloaded.
HT_INLINE int has_slow_free(const void *p)
{
	return ht_unlikely(ht_filter_may_hold(p)) || ht_unlikely(ht_in_loader((u64)__builtin_return_address(0)));
}

HT_FRAMELESS static void plain_free(void *p)
{
	if (has_slow_free(p))
		slow_free(p);
	else
		ht_real.free(p);
}

// The same while no module is known that may be unloaded.
HT_FRAMELESS static void settled_free(void *p)
{
	if (ht_unlikely(ht_filter_may_hold(p)))
		slow_free(p);
	else
		ht_real.free(p);
}

// ---------------------------------------------------------------------------------------------------------------------
// Count: see counts.c. The blocks are glibc's, so none has more than 2^47 bytes.

HT_INLINE u64 usable(const void *p)
{
	u64 word = ((const u64 *)p)[-1];
	return ht_likely(!(word & 2)) ? (word & ~7ull) - 8 : ht_usable_by_header(p);
}

HT_INLINE void *count(struct ht_counts *c, u64 kind, void *p, u64 size)
{
	struct ht_counts_row *row = &c->rows[kind];
	row->calls++;
	row->bytes += size;
	row->usable += usable(p);
	row->sizes[ht_size_class(size)]++;
	return p;
}

HT_FRAMELESS static void *count_malloc(size_t size)
{
	if (!is_common())
		return slow_malloc(size);
	void *p = ht_real.malloc(size);
	struct ht_counts *c = ht_thread_again()->counts;
	return ht_likely(p && c) ? count(c, HT_K_MALLOC, p, size) : end_malloc(p, size);
}

HT_FRAMELESS static void *count_calloc(size_t n, size_t size)
{
	if (!is_common())
		return slow_calloc(n, size);
	void *p = ht_real.calloc(n, size);
	struct ht_counts *c = ht_thread_again()->counts;
	return ht_likely(p && c) ? count(c, HT_K_CALLOC, p, n * size) : end_calloc(p, n, size);
}

HT_INLINE void count_and_free(void *p, int may_be_recorded)
{
	struct ht_counts *c = ht_local.thread->counts;
	if (ht_unlikely(!p) || ht_unlikely(ht_local.operator.sp != 0) || ht_unlikely(!c) ||
	    (may_be_recorded && has_slow_free(p))) {
		slow_free(p);
		return;
	}
	ht_count_freed(c, HT_K_FREE, usable(p));
	ht_real.free(p);
}

HT_FRAMELESS static void count_free(void *p)
{
	count_and_free(p, 1);
}

// If nothing has ever been recorded.
HT_FRAMELESS static void count_only_free(void *p)
{
	count_and_free(p, 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Off

HT_FRAMELESS static void *off_malloc(size_t size)
{
	if (has_changed())
		return slow_malloc(size);
	return ht_real.malloc(size);
}

HT_FRAMELESS static void *off_calloc(size_t count, size_t size)
{
	if (has_changed())
		return slow_calloc(count, size);
	return ht_real.calloc(count, size);
}

// ---------------------------------------------------------------------------------------------------------------------

static void set(void *(*malloc)(size_t), void *(*calloc)(size_t, size_t), void (*free)(void *))
{
	ht_store(&ht_fast_hooks.malloc, malloc);
	ht_store(&ht_fast_hooks.calloc, calloc);
	ht_store(&ht_fast_hooks.free, free);
	ht_store_release(&ht_state->dispatch, HT_DISPATCH_FAST_HOOKS);
}

void ht_fast_hooks_choose(u64 flags)
{
	if (ht_is_timed()) // the clocks around the real functions need the hook's frame
		return;
	if (flags == HT_SLOW_SAMPLED && ht_state->size_mask)
		set(bytes_malloc, bytes_calloc, settled_free);
	else if (flags == HT_SLOW_SAMPLED)
		set(calls_malloc, calls_calloc, settled_free);
	else if (flags == HT_SLOW_COUNT && ht_glibc)
		set(count_malloc, count_calloc, ht_filter_is_used() ? count_free : count_only_free);
	else if (flags == HT_SLOW_OFF)
		set(off_malloc, off_calloc, settled_free);
	else if (flags == (HT_SLOW_ONLY_OBSERVED | HT_SLOW_MONITOR) && !ht_state->free_stacks)
		set(ht_monitored_malloc, ht_observed_calloc, ht_monitored_free);
	else if (flags == (HT_SLOW_ONLY_OBSERVED | HT_SLOW_MEASURE) && !ht_state->free_stacks)
		set(ht_measured_malloc, ht_observed_calloc, ht_measured_free);
	// either the thread that finds such a module sees settled_free, or we see the module
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ht_modules_may_unload())
		ht_fast_hooks_watch_loader();
}

void ht_fast_hooks_watch_loader(void)
{
	void (*settled)(void *) = settled_free;
	__atomic_compare_exchange_n(&ht_fast_hooks.free, &settled, plain_free, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void ht_fast_hooks_bypass(void)
{
	set(ht_real.malloc, ht_real.calloc, ht_real.free);
}
