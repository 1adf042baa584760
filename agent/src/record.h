// SPDX-License-Identifier: Apache-2.0
//
// record.h: from an intercepted call to a published record. All of it is inlined into the hooks.
//
// The order of stores is the promise that the recorder relies on: busy is set before the clock is read; the record is
// written before pos makes it visible; busy is cleared last. x86 keeps stores in order, so compiler barriers are enough
// there; the release stores say so to other machines.
#ifndef HT_RECORD_H
#define HT_RECORD_H

#include "agent.h"
#include "memo.h"
#include "sys.h"

struct ht_caller {
	u64 pc; // return address
	u64 sp; // the caller's stack pointer after the return
	u64 fp; // the caller's frame pointer
};

// In a function that keeps a frame pointer (the hooks are compiled so): x86-64 psABI, figure 3.3.
#define HT_CALLER() \
	({ \
		u64 *frame_ = __builtin_frame_address(0); \
		(struct ht_caller){frame_[1], (u64)(frame_ + 2), frame_[0]}; \
	})

// The C++ operator hook that is running its real operator in this thread. What that operator itself calls (malloc, or
// operator new from operator new[]) belongs to the operator's event. An exception or a longjmp may leave this set: so only
// calls that come from the code of a real operator are ever held against it (hooks_cxx.c).
struct ht_operator {
	u64 sp; // the hook's caller's stack pointer; 0: none is running
	u64 slot; // where the return address into the hook lies
	u64 kind, size, extra_kind, extra;
	struct ht_caller caller;
	u32 asking; // the allocator is being asked for a usable size; sp is not 0 then
	u32 failed; // the allocation in it failed, and only a new_handler can still save it
	u32 stack;
};
extern __thread struct ht_operator ht_operator __attribute__((tls_model("initial-exec")));

HT_COLD int ht_operator_holds(u64 pc, u64 sp);
HT_COLD void ht_operator_failed(void);
// What the allocator says of the size of a block; ~0 if it cannot be asked.
HT_NOINLINE u64 ht_ask_usable(const void *p);

HT_INLINE int ht_is_nested(struct ht_caller c)
{
	return ht_unlikely(ht_operator.sp != 0) && ht_operator_holds(c.pc, c.sp);
}

// Begins an event: null if it cannot be recorded.
HT_INLINE struct ht_thread *ht_begin(struct ht_caller c)
{
	struct ht_thread *t = ht_self;
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
HT_INLINE void ht_end(struct ht_thread *t, const u64 *end)
{
	struct ht_stream *s = t->stream;
	t->at = (u64)end;
	ht_store_release(&s->pos, t->pos_base + (u64)end);
	HT_FENCE();
	ht_store_release(&s->busy, 0);
}

HT_INLINE u64 *ht_put_extra(u64 *w, u64 kind, u64 value)
{
	w[0] = kind << HT_KIND_SHIFT;
	w[1] = value;
	return w + 2;
}

HT_INLINE u64 ht_usable(const void *p)
{
	if (ht_likely(ht_glibc)) {
		u64 word = ((const u64 *)p)[-1];
		return (word & ~7ull) - 8 - ((word & 2) << 2); // a mapped block has two words before it
	}
	return ht_ask_usable(p);
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
	ht_end(t, w + 3);
}

// One event of class 0. extra_kind and extra: an extra record, if extra_kind is not 0.
HT_INLINE void ht_record_stacked(u64 kind, u64 address, u64 size, u64 usable, u64 extra_kind, u64 extra,
				 struct ht_caller c)
{
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	ht_write_stacked(t, kind, address, size, usable, extra_kind, extra, ht_capture(&t->memo, c.pc, c.sp, c.fp));
}

// An allocation that returned p.
HT_INLINE void ht_record_allocation(u64 kind, const void *p, u64 size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	if (!ht_is_nested(c))
		ht_record_stacked(kind, (u64)p, size, p ? ht_usable(p) : size, extra_kind, extra, c);
	else if (!p)
		ht_operator_failed();
}

// A deallocation of p that is about to happen.
HT_INLINE void ht_record_deallocation(u64 kind, const void *p, struct ht_caller c)
{
	if (ht_is_nested(c))
		return;
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	u64 *w = (u64 *)t->at;
	w[0] = ((u64)p & HT_ADDR_MASK) | kind << HT_KIND_SHIFT;
	w[1] = ht_clock();
	ht_end(t, w + 2);
}

#endif
