// SPDX-License-Identifier: Apache-2.0
//
// hooks.c: the C allocation functions, in place of the real ones.
//
// What these functions may do. They run in any thread, in signal handlers (of malloc-using programs that should not,
// and do), before main, after exit, while the loader holds its locks and while libc forks. They therefore call nothing
// but the real allocation functions and the agent's own code, which holds no lock. errno belongs to the real functions.
// A hook must return what the real function returned, and work on a nearly full stack.
//
// Order. A deallocation is published before the real function runs, an allocation after it has returned, a realloc as a
// begin and a result. So if an address passes from one thread to another, its deallocation has an earlier timestamp
// than its next allocation.
//
// The hooks are compiled with frame pointers, so that the caller's registers can be read from the frame, and with
// unwind tables, because exceptions of a real operator new pass through them.

#include <errno.h>

#include "base/local.h"
#include "base/state.h"
#include "unwind/shadow.h"
#include "record/real.h"
#include "record/record.h"
#include "hooks/fast_hooks.h"

void ht_write_deallocation_stacked(struct ht_thread *t, u64 kind, const void *p, u64 caller_sp)
{
	const u64 *frame = (const u64 *)caller_sp - 2; // the hook's frame, see HT_CALLER
	struct ht_memo *memo = ht_unlikely(ht_enter_exit) ? &t->memo : &t->memo_of_frees; // shadow.c uses one memo
	u32 stack = ht_capture(memo, frame[1], caller_sp, frame[0]);
	// The kind may carry the lowest byte of a size, which ends up in the slack here, too.
	ht_write_stacked(t, HT_K_STACKED | (kind & 31), (u64)p, 0, kind >> 8, 0, 0, stack);
}

HT_EXPORT void *malloc(size_t size)
{
	if (ht_uses_fast_hooks())
		return ht_fast_hooks.malloc(size);
	volatile size_t kept = size; // in a register, it would have to be saved before the first line
	void *p = ht_real.malloc(size);
	return ht_record_common_allocation(HT_K_MALLOC, p, kept);
}

static HT_NOINLINE void free_uncommon(void *p)
{
	if (ht_state->dispatch == HT_DISPATCH_EXACT) // the fast path was tried already
		p = ht_deallocated(HT_K_FREE, p, HT_FRAME());
	else
		p = ht_record_common_deallocation(HT_K_FREE, p, HT_FRAME());
	ht_real.free(p);
}

HT_FRAMELESS HT_EXPORT void free(void *p)
{
	if (ht_uses_fast_hooks())
		ht_fast_hooks.free(p);
	else if (ht_unlikely(!p) ||
		 (ht_likely(ht_state->dispatch == HT_DISPATCH_EXACT) &&
		  ht_likely(ht_record_plain_deallocation(HT_K_FREE, p, (u64)__builtin_return_address(0),
							 (u64)__builtin_dwarf_cfa()))))
		ht_real.free(p);
	else
		free_uncommon(p);
}

HT_EXPORT void cfree(void *p)
{
	if (p)
		ht_record_deallocation(HT_K_CFREE, p, HT_CALLER());
	ht_real.free(p);
}

HT_EXPORT void free_sized(void *p, size_t size)
{
	if (p) {
		ht_hint_size(p, size);
		p = ht_deallocated(HT_KIND_SIZED(HT_K_FREE_SIZED, size), p, HT_FRAME());
	}
	if (ht_real.free_sized)
		ht_real.free_sized(p, size);
	else
		ht_real.free(p);
}

HT_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	if (p) {
		ht_hint(p, size, alignment);
		p = ht_deallocated(HT_KIND_SIZED(HT_K_FREE_ALIGNED_SIZED, size), p, HT_FRAME());
	}
	if (ht_real.free_aligned_sized)
		ht_real.free_aligned_sized(p, alignment, size);
	else
		ht_real.free(p);
}

HT_EXPORT void *calloc(size_t count, size_t size)
{
	if (ht_uses_fast_hooks())
		return ht_fast_hooks.calloc(count, size);
	u64 total;
	void *p = ht_real.calloc(count, size);
	if (ht_unlikely(__builtin_mul_overflow((u64)count, (u64)size, &total)))
		total = ~0ull;
	if (count <= 1 || size <= 1)
		return ht_record_common_allocation(HT_K_CALLOC, p, total);
	ht_record_allocation(HT_K_CALLOC, p, total, HT_X_COUNT, count, HT_CALLER());
	return p;
}

// Records the begin of a realloc.
HT_INLINE struct ht_begun begin(const void *old, struct ht_caller c)
{
	if (ht_has_slow_flags())
		return ht_slow_deallocation(HT_K_REALLOC_BEGIN, old, c);
	ht_record_short(HT_K_REALLOC_BEGIN, old, c);
	return (struct ht_begun){1, ~0ull};
}

HT_INLINE void *reallocate(u64 kind, void *old, size_t size, u64 extra_kind, u64 extra, struct ht_caller c)
{
	struct ht_begun begun = {0, ~0ull};
	int nested = ht_is_nested(c);
	if (old && !nested)
		begun = begin(old, c);
	void *p = ht_real.realloc(old, size);
	if (nested)
		return p;
	if (ht_has_slow_flags())
		ht_slow_result(kind, old, p, size, extra_kind, extra, begun, c);
	else
		ht_record_stacked(kind, (u64)p, size, p ? ht_usable(p) : size, extra_kind, extra, c);
	return p;
}

HT_EXPORT void *realloc(void *old, size_t size)
{
	return reallocate(HT_K_REALLOC, old, size, 0, 0, HT_CALLER());
}

// The real function calls realloc through its PLT, which would be our hook again. It does no more than this.
HT_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	u64 total;
	if (__builtin_mul_overflow((u64)count, (u64)size, &total)) {
		struct ht_caller c = HT_CALLER();
		struct ht_begun begun = {0, ~0ull};
		int nested = ht_is_nested(c);
		if (old && !nested)
			begun = begin(old, c);
		if (!nested)
			ht_slow_result(HT_K_REALLOCARRAY, old, 0, ~0ull, HT_X_COUNT, count, begun, c);
		errno = ENOMEM;
		return 0;
	}
	return reallocate(HT_K_REALLOCARRAY, old, total, HT_X_COUNT, count, HT_CALLER());
}

// malloc, calloc, realloc and free find their real functions themselves; for the others this must have happened before.
#define READY(function) \
	do \
		if (ht_unlikely(!ht_real.function)) \
			ht_init(); \
	while (0)

HT_EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	READY(posix_memalign);
	int r = ht_real.posix_memalign(out, alignment, size);
	ht_record_allocation(HT_K_POSIX_MEMALIGN, r == 0 ? *out : 0, size, HT_X_ALIGN, alignment, HT_CALLER());
	return r;
}

HT_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	READY(aligned_alloc);
	void *p = ht_real.aligned_alloc(alignment, size);
	ht_record_allocation(HT_K_ALIGNED_ALLOC, p, size, HT_X_ALIGN, alignment, HT_CALLER());
	return p;
}

HT_EXPORT void *memalign(size_t alignment, size_t size)
{
	READY(memalign);
	void *p = ht_real.memalign(alignment, size);
	ht_record_allocation(HT_K_MEMALIGN, p, size, HT_X_ALIGN, alignment, HT_CALLER());
	return p;
}

HT_EXPORT void *valloc(size_t size)
{
	READY(valloc);
	void *p = ht_real.valloc(size);
	ht_record_allocation(HT_K_VALLOC, p, size, HT_X_ALIGN, 4096, HT_CALLER());
	return p;
}

HT_EXPORT void *pvalloc(size_t size)
{
	READY(pvalloc);
	void *p = ht_real.pvalloc(size);
	ht_record_allocation(HT_K_PVALLOC, p, size, HT_X_ALIGN, 4096, HT_CALLER());
	return p;
}
