// SPDX-License-Identifier: Apache-2.0
//
// record.h: from an intercepted call to a published record.
//
// There are two paths. The slow path handles everything. The fast path handles the common functions as long as nothing
// is uncommon. It is inlined into their hooks and calls nothing, so the hooks use only registers that a call may
// change. What it cannot do it leaves to functions of record.c, which continue where it stopped.
//
// The clock is read as early as possible: reading takes about 10 ns, but the processor does other work meanwhile.
//
// The recorder relies on the order of the stores: busy is set before the clock is read; the record is written before
// pos makes it visible; busy is cleared last. x86 keeps stores in order, so compiler barriers are enough there. The
// release stores are for other machines.
#ifndef HT_RECORD_H
#define HT_RECORD_H

#include "base/base.h"
#include "base/local.h"
#include "base/state.h"
#include "base/sys.h"
#include "unwind/memo.h"
#include "unwind/modules.h"
#include "record/dealloc_hint.h"
#include "record/observer.h"
#include "record/real.h"
#include "record/slow.h"
#include "record/thread.h"

// In a function that keeps a frame pointer (the hooks are compiled so): x86-64 psABI, figure 3.3.
#define HT_FRAME() ((const u64 *)__builtin_frame_address(0))
#define HT_CALLER() ht_caller_of(HT_FRAME())
HT_INLINE struct ht_caller ht_caller_of(const u64 *frame)
{
	return (struct ht_caller){frame[1], (u64)(frame + 2), frame[0]};
}

// Returns the call stack of a call of the agent that is not an event; 0 if there is none.
HT_COLD u32 ht_stack_of(struct ht_caller c);

HT_COLD int ht_operator_holds(u64 pc, u64 sp);
HT_COLD void ht_operator_failed(void);
// Returns the size of a block according to the allocator; ~0 if it cannot be asked.
HT_NOINLINE u64 ht_ask_usable(const void *p);

HT_INLINE int ht_is_nested(struct ht_caller c)
{
	return ht_unlikely(ht_local.operator.sp != 0) && ht_operator_holds(c.pc, c.sp);
}

// Begins an event. Returns null if it cannot be recorded.
HT_INLINE struct ht_thread *ht_begin(struct ht_caller c)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_unlikely(t->stream->busy || !ht_state->generation)) {
		t = ht_thread_enter(t, c.sp);
		if (!t)
			return 0;
	}
	ht_store(&t->stream->busy, c.sp);
	HT_FENCE();
	if (ht_unlikely(t->at > t->limit))
		ht_thread_next_chunk(t);
	if (ht_unlikely(ht_in_loader(c.pc)))
		ht_modules_check();
	return t;
}

// Publishes what was written up to `end` and ends the event.
HT_INLINE void ht_end(struct ht_thread *t, struct ht_stream *s, const u64 *end)
{
	ht_store_release(&s->pos, t->pos_base + (u64)end);
	HT_FENCE();
	t->at = (u64)end;
	HT_FENCE();
	ht_store_release(&s->busy, 0);
}

HT_INLINE u64 *ht_put_extra(u64 *w, u64 kind, u64 value)
{
	w[0] = kind << HT_KIND_SHIFT;
	w[1] = value;
	return w + 2;
}

// The usable size of a block of glibc's.
HT_INLINE u64 ht_usable_by_header(const void *p)
{
	u64 word = ((const u64 *)p)[-1];
	return ((word - 8) & ~7ull) - ((word & 2) << 2); // a mapped block has two words before it
}

HT_INLINE u64 ht_usable(const void *p)
{
	return ht_likely(ht_glibc) ? ht_usable_by_header(p) : ht_ask_usable(p);
}

HT_INLINE void ht_write_stacked(struct ht_thread *t, u64 kind, u64 address, u64 size, u64 usable, u64 extra_kind,
				u64 extra, u32 stack)
{
	u64 *w = (u64 *)t->at, slack = usable - size, low = size;
	if (extra_kind)
		w = ht_put_extra(w, extra_kind, extra);
	if (ht_unlikely(slack >= HT_SLACK_EXTRA)) {
		slack = HT_SLACK_EXTRA;
		if (usable != ~0ull)
			w = ht_put_extra(w, HT_X_USABLE, usable);
	}
	if (ht_unlikely(size >= HT_SIZE_EXTRA)) {
		low = HT_SIZE_EXTRA;
		w = ht_put_extra(w, HT_X_SIZE, size);
	}
	w[0] = (address & HT_ADDR_MASK) | kind << HT_KIND_SHIFT | slack << HT_SLACK_SHIFT;
	w[1] = low | (u64)stack << 32;
	w[2] = ht_clock();
	ht_end(t, t->stream, w + 3);
}

// Records an event of class 0. extra_kind and extra: an extra record, if extra_kind is not 0.
HT_INLINE void ht_record_stacked(u64 kind, u64 address, u64 size, u64 usable, u64 extra_kind, u64 extra,
				 struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	ht_write_stacked(t, kind, address, size, usable, extra_kind, extra, ht_capture(&t->memo, c.pc, c.sp, c.fp));
	if (ht_unlikely(c.sp < t->deep))
		ht_deeper(c);
}

// Records an allocation that returned p.
HT_INLINE void ht_record_allocation(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	if (ht_is_nested(c)) {
		if (!p)
			ht_operator_failed();
	} else if (ht_has_slow_flags()) {
		ht_slow_allocation(kind, p, size, extra_kind, extra, c);
	} else {
		ht_record_stacked(kind, (u64)p, size, p ? ht_usable(p) : size, extra_kind, extra, c);
	}
}

// The rest of ht_record_deallocation if the call stack is wanted, too (--free-stacks). Its arguments are values that
// the hook has anyway, so hooks pay nothing if it is not wanted.
HT_COLD void ht_write_deallocation_stacked(struct ht_thread *t, u64 kind, const void *p, u64 caller_sp);

// Records an event of class 1, or its form with a call stack.
HT_INLINE void ht_record_short(u64 kind, const void *p, struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	if (ht_unlikely(ht_dealloc_hint.block == p))
		ht_put_hint(t);
	if (ht_unlikely(ht_state->free_stacks)) {
		ht_write_deallocation_stacked(t, kind, p, c.sp);
		return;
	}
	u64 *w = (u64 *)t->at;
	w[0] = ((u64)p & HT_ADDR_MASK) | kind << HT_KIND_SHIFT;
	w[1] = ht_clock();
	ht_end(t, t->stream, w + 2);
}

// Records a deallocation of p, before it happens.
HT_INLINE void ht_record_deallocation(u64 kind, const void *p, struct ht_caller c)
{
	if (ht_is_nested(c))
		return;
	if (ht_has_slow_flags())
		ht_slow_deallocation(kind, p, c);
	else
		ht_record_short(kind, p, c);
}

// ---------------------------------------------------------------------------------------------------------------------
// The fast path. `frame` is the hook's own, see HT_CALLER.

// Prevents a tail call, which would drop the hook's frame: the called function reads it.
#define HT_KEEP_FRAME(p) __asm__("" : "+r"(p))

// The slow path of an allocation. Returns p.
HT_NOINLINE void *ht_allocated(u64 kind, void *p, u64 size, const u64 *frame);
// Finishes the fast path if the call stack is not the last one: busy is set, and only the stack is missing in the
// record.
HT_NOINLINE void *ht_allocated_finish(struct ht_thread *t, void *p, const u64 *frame);
// The slow path of a deallocation. Returns p.
HT_NOINLINE void *ht_deallocated(u64 kind, void *p, const u64 *frame);

// The cache lines of a chunk must come back from the recorder's processor. They are prefetched this many records ahead.
#define HT_AHEAD 21

// A record of class 0.
struct ht_stacked {
	u64 first;
	u32 size, stack;
	u64 time;
};

// Records an allocation that returned p. Returns p.
HT_INLINE void *ht_record_common_allocation(u64 kind, void *p, u64 size)
{
	struct ht_thread *t = ht_local.thread;
	struct ht_stream *s = t->stream;
	struct ht_stacked *w;
	u64 sp = (u64)(HT_FRAME() + 2), word, slack, flags;
	if (ht_unlikely((ht_local.operator.sp | s->busy) != 0))
		goto uncommon;
	if (ht_unlikely(ht_load(&ht_state->common) != t->memo.generation))
		goto slow;
	if (ht_unlikely(!p))
		goto uncommon;
	ht_store(&s->busy, sp);
	HT_FENCE();
	w = (struct ht_stacked *)t->at;
	if (ht_unlikely((u64)w > t->fast_limit))
		goto undo;
	ht_clock_to(&w->time);
	ht_will_write(w + HT_AHEAD);
	word = ((const u64 *)p)[-1]; // see ht_usable
	slack = (word & ~7ull) - size;
	__asm__("" : "+r"(slack)); // otherwise the compiler computes 8 + size separately
	slack -= 8;
	if (ht_unlikely(slack >= HT_SLACK_EXTRA) || ht_unlikely(word & (~0ull << 32 | 2)))
		goto undo;
	w->first = (u64)p | kind << HT_KIND_SHIFT | slack << HT_SLACK_SHIFT; // glibc's addresses are short enough
	w->size = (u32)size;
	const struct ht_frame *leaf = ht_memo_same(&t->memo, HT_FRAME()[1], sp, HT_FRAME()[0]);
	if (ht_unlikely(!leaf)) {
		p = ht_allocated_finish(t, p, HT_FRAME());
		HT_KEEP_FRAME(p);
		return p;
	}
	w->stack = leaf->node;
	ht_end(t, s, (u64 *)(w + 1));
	return p;
slow:
	flags = ht_load(&ht_state->slow_flags);
	if (flags == HT_SLOW_SAMPLED && ht_likely(p != 0)) {
		if (!ht_sample_is_due(size))
			return p;
		p = ht_sampled_allocated(kind, p, size, HT_FRAME());
		HT_KEEP_FRAME(p);
		return p;
	}
	if (flags & HT_SLOW_ONLY_OBSERVED) {
		p = ht_observed_allocated(kind, p, size, HT_FRAME());
		HT_KEEP_FRAME(p);
		return p;
	}
	if (flags == HT_SLOW_COUNT) {
		if (ht_unlikely(!t->counts) || ht_unlikely(!ht_glibc) || ht_unlikely(!p))
			return ht_count_allocation(t, kind, p, size);
		ht_count_block(t->counts, kind, size, ht_usable_by_header(p));
		return p;
	}
	if (flags == HT_SLOW_OFF)
		return p;
	goto uncommon;
undo:
	ht_store(&s->busy, 0);
uncommon:
	p = ht_allocated(kind, p, size, HT_FRAME());
	HT_KEEP_FRAME(p);
	return p;
}

// Records a deallocation of p, which is not null, before it happens, if nothing is uncommon. Otherwise does nothing and
// returns 0.
HT_INLINE int ht_record_plain_deallocation(u64 kind, const void *p, u64 pc, u64 sp)
{
	struct ht_thread *t = ht_local.thread;
	struct ht_stream *s = t->stream;
	u64 *w;
	if (ht_unlikely((ht_local.operator.sp | s->busy) != 0) || ht_unlikely(ht_in_loader(pc)))
		return 0;
	ht_store(&s->busy, sp);
	HT_FENCE();
	w = (u64 *)t->at;
	if (ht_unlikely((u64)w > t->fast_limit)) {
		ht_store(&s->busy, 0);
		return 0;
	}
	w[0] = ((u64)p & HT_ADDR_MASK) | kind << HT_KIND_SHIFT;
	ht_clock_to(&w[1]);
	ht_end(t, s, w + 2);
	return 1;
}

// Records a deallocation in all cases. Returns p.
HT_INLINE void *ht_record_common_deallocation(u64 kind, void *p, const u64 *frame)
{
	struct ht_thread *t = ht_local.thread;
	u64 flags;
	if (ht_likely(ht_state->dispatch == HT_DISPATCH_EXACT)) {
		if (ht_likely(ht_record_plain_deallocation(kind, p, frame[1], (u64)(frame + 2))))
			return p;
		goto uncommon;
	}
	if (ht_unlikely((ht_local.operator.sp | t->stream->busy) != 0))
		goto uncommon;
	flags = ht_load(&ht_state->slow_flags);
	if (flags - 1 < HT_SLOW_ALONE && !ht_filter_may_hold(p) && ht_likely(!ht_in_loader(frame[1]))) {
		if (flags != HT_SLOW_COUNT)
			return p;
		if (ht_unlikely(!t->counts) || ht_unlikely(!ht_glibc))
			return ht_count_deallocation(t, kind, p);
		ht_count_freed(t->counts, kind, ht_usable_by_header(p));
		return p;
	}
	if (flags & HT_SLOW_ONLY_OBSERVED) {
		p = ht_observed_deallocated(kind, p, frame);
		HT_KEEP_FRAME(p);
		return p;
	}
uncommon:
	p = ht_deallocated(kind, p, frame);
	HT_KEEP_FRAME(p);
	return p;
}

#endif
