// SPDX-License-Identifier: Apache-2.0
//
// hooks_cxx.c: C++ operator new and delete, all forms.
//
// Without these hooks, an allocator with operators of its own (jemalloc, tcmalloc, mimalloc) would not be seen.
// libstdc++'s operators call malloc and free, and those calls are part of the operator's event. The agent cannot throw,
// but the real operators can, and their exceptions pass through these frames. Then the lines after the real call are
// not reached.

#include "base/local.h"
#include "record/real.h"
#include "record/record.h"
#include "record/thread.h"
#include "hooks/guard.h"

// ---------------------------------------------------------------------------------------------------------------------
// Which calls belong to an operator, and what happens when one throws

static void write_failure(void)
{
	struct ht_operator *o = &ht_local.operator;
	if (ht_has_slow_flags() && !ht_slow_failure(o->kind, o->size))
		return;
	struct ht_thread *t = ht_begin(o->caller);
	if (t)
		ht_write_stacked(t, o->kind, 0, o->size, o->size, o->extra_kind, o->extra, o->stack);
}

static void left_by_exception(void)
{
	if (ht_local.operator.failed)
		write_failure();
	ht_local.operator.failed = 0;
	ht_local.operator.sp = 0;
}

// Whether the operator has ended without its hook noticing: we are above it on the stack, or the return address into
// its hook is no longer where the call put it.
static int is_over(u64 sp)
{
	if (!ht_on_stack(ht_local.thread, sp, ht_local.operator.slot))
		return 0;
	return sp >= ht_local.operator.sp ||(
			     sp <= ht_local.operator.slot && !ht_in_agent(*(const u64 *)ht_local.operator.slot));
}

#define ONLY_ASKING (~0ull) // instead of a stack position: no operator is running

int ht_operator_holds(u64 pc, u64 sp)
{
	if (ht_local.operator.asking && pc - ht_allocator_low<ht_allocator_size)
		return 1;
	if (ht_local.operator.sp == ONLY_ASKING)
		return 0;
	// An operator that ends by jumping to another one (sized delete to delete, delete to free) leaves the return
	// address into our hook on the stack.
	if (sp <
	    ht_local.operator.sp &&(ht_in_agent(pc) || ht_in_operator(pc) || pc - ht_allocator_low < ht_allocator_size))
		return 1;
	if (is_over(sp))
		left_by_exception();
	return 0;
}

// malloc failed inside the operator. The throwing forms now call the new_handler, and throw if there is none.
void ht_operator_failed(void)
{
	static void *(*get_new_handler)(void);
	static u32 looked;
	struct ht_operator *o = &ht_local.operator;
	struct ht_thread *t;

	if (o->failed || (o->kind != HT_K_NEW && o->kind != HT_K_NEW_ARRAY && o->kind != HT_K_NEW_ALIGNED &&
			  o->kind != HT_K_NEW_ARRAY_ALIGNED))
		return; // the nothrow forms return, and their hook records the failure
	if (!looked) {
		get_new_handler = ht_real_operator(HT_GET_NEW_HANDLER);
		looked = 1;
	}
	t = ht_begin(o->caller);
	if (!t)
		return;
	o->stack = ht_capture(&t->memo, o->caller.pc, o->caller.sp, o->caller.fp);
	ht_end(t, t->stream, (u64 *)t->at);
	if (get_new_handler && get_new_handler())
		o->failed = 1;
	else
		write_failure();
}

// tcmalloc allocates the first time it is asked. We cause that allocation, not the program, and must not ask about it
// in turn.
u64 ht_ask_usable(const void *p)
{
	u64 sp = ht_local.operator.sp, size;
	if (!ht_real.usable_size || ht_local.operator.asking)
		return ~0ull;
	if (!sp)
		ht_local.operator.sp = ONLY_ASKING;
	ht_local.operator.asking = 1;
	size = ht_real.usable_size((void *)p);
	ht_local.operator.asking = 0;
	ht_local.operator.sp = sp;
	return size;
}

// ---------------------------------------------------------------------------------------------------------------------
// The hooks

HT_INLINE void *fallback_new(size_t size, size_t alignment)
{
	return alignment ? ht_real.aligned_alloc(alignment, size) : ht_real.malloc(size);
}

#define NEW(number, symbol, kind, alignment, PARAMETERS, TYPES, ARGUMENTS) \
	HT_EXPORT void *symbol PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		void *(*real)TYPES = ht_real_operator(number); \
		void *p; \
		if (ht_is_nested(c)) \
			return real ? real ARGUMENTS : fallback_new(size, alignment); \
		HT_GUARDED(kind, size, (alignment) ? HT_X_ALIGN : 0, alignment, c, \
			   p = real ? real ARGUMENTS : fallback_new(size, alignment)); \
		if (!(alignment)) \
			return ht_record_common_allocation(kind, p, size); \
		ht_record_allocation(kind, p, size, HT_X_ALIGN, alignment, c); \
		return p; \
	}

// has_hint: 1 if something must be recorded before the deallocation, see dealloc_hint.h.
#define DELETE(number, symbol, kind_, has_hint, PARAMETERS, TYPES, ARGUMENTS) \
	HT_EXPORT void symbol PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		void(*real) TYPES = ht_real_operator(number); \
		if (!real) \
			real = (void(*) TYPES)(void *)ht_real.free; \
		if (!p || ht_is_nested(c)) { \
			real ARGUMENTS; \
			return; \
		} \
		p = (has_hint) ? ht_deallocated(kind_, p, HT_FRAME()) \
			       : ht_record_common_deallocation(kind_, p, HT_FRAME()); \
		HT_GUARDED(kind_, 0, 0, 0, c, real ARGUMENTS); \
	}

#define T const void *nothrow

NEW(0, _Znwm, HT_K_NEW, 0, (size_t size), (size_t), (size))
NEW(1, _Znam, HT_K_NEW_ARRAY, 0, (size_t size), (size_t), (size))
NEW(2, _ZnwmRKSt9nothrow_t, HT_K_NEW_NOTHROW, 0, (size_t size, T), (size_t, T), (size, nothrow))
NEW(3, _ZnamRKSt9nothrow_t, HT_K_NEW_ARRAY_NOTHROW, 0, (size_t size, T), (size_t, T), (size, nothrow))
NEW(4, _ZnwmSt11align_val_t, HT_K_NEW_ALIGNED, a, (size_t size, size_t a), (size_t, size_t), (size, a))
NEW(5, _ZnamSt11align_val_t, HT_K_NEW_ARRAY_ALIGNED, a, (size_t size, size_t a), (size_t, size_t), (size, a))
NEW(6, _ZnwmSt11align_val_tRKSt9nothrow_t, HT_K_NEW_ALIGNED_NOTHROW, a, (size_t size, size_t a, T), (size_t, size_t, T),
    (size, a, nothrow))
NEW(7, _ZnamSt11align_val_tRKSt9nothrow_t, HT_K_NEW_ARRAY_ALIGNED_NOTHROW, a, (size_t size, size_t a, T),
    (size_t, size_t, T), (size, a, nothrow))

DELETE(8, _ZdlPv, HT_K_DELETE, 0, (void *p), (void *), (p))
DELETE(9, _ZdaPv, HT_K_DELETE_ARRAY, 0, (void *p), (void *), (p))
DELETE(10, _ZdlPvm, HT_KIND_SIZED(HT_K_DELETE_SIZED, size), ht_hint_size(p, size), (void *p, size_t size),
       (void *, size_t), (p, size))
DELETE(11, _ZdaPvm, HT_KIND_SIZED(HT_K_DELETE_ARRAY_SIZED, size), ht_hint_size(p, size), (void *p, size_t size),
       (void *, size_t), (p, size))
DELETE(12, _ZdlPvRKSt9nothrow_t, HT_K_DELETE_NOTHROW, 0, (void *p, T), (void *, T), (p, nothrow))
DELETE(13, _ZdaPvRKSt9nothrow_t, HT_K_DELETE_ARRAY_NOTHROW, 0, (void *p, T), (void *, T), (p, nothrow))
DELETE(14, _ZdlPvSt11align_val_t, HT_K_DELETE_ALIGNED, ht_hint_alignment(p, a), (void *p, size_t a), (void *, size_t),
       (p, a))
DELETE(15, _ZdaPvSt11align_val_t, HT_K_DELETE_ARRAY_ALIGNED, ht_hint_alignment(p, a), (void *p, size_t a),
       (void *, size_t), (p, a))
DELETE(16, _ZdlPvmSt11align_val_t, HT_KIND_SIZED(HT_K_DELETE_SIZED_ALIGNED, size), ht_hint(p, size, a),
       (void *p, size_t size, size_t a), (void *, size_t, size_t), (p, size, a))
DELETE(17, _ZdaPvmSt11align_val_t, HT_KIND_SIZED(HT_K_DELETE_ARRAY_SIZED_ALIGNED, size), ht_hint(p, size, a),
       (void *p, size_t size, size_t a), (void *, size_t, size_t), (p, size, a))
DELETE(18, _ZdlPvSt11align_val_tRKSt9nothrow_t, HT_K_DELETE_ALIGNED_NOTHROW, ht_hint_alignment(p, a),
       (void *p, size_t a, T), (void *, size_t, T), (p, a, nothrow))
DELETE(19, _ZdaPvSt11align_val_tRKSt9nothrow_t, HT_K_DELETE_ARRAY_ALIGNED_NOTHROW, ht_hint_alignment(p, a),
       (void *p, size_t a, T), (void *, size_t, T), (p, a, nothrow))
