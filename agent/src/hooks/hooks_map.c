// SPDX-License-Identifier: Apache-2.0
//
// hooks_map.c: mapping changes that the program makes itself: mmap, munmap, mremap, brk and sbrk.
//
// They are events of their own kind, not allocations. libc's own mappings, for its malloc and its threads, do not pass
// through here; those of another allocator do, and are left out. A change is recorded after the kernel has made it,
// except munmap. Failures are not recorded, except those of mmap and mremap, with address 0.
//
// mmap, munmap and mremap go to the kernel directly, because allocators call them before anything else is initialized.

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "base/local.h"
#include "base/state.h"
#include "record/real.h"
#include "record/record.h"
#include "record/thread.h"

HT_INLINE int is_event(struct ht_caller c)
{
	if (ht_unlikely(ht_local.thread == &ht_no_thread))
		ht_init(); // finds the allocator
	if (ht_has_slow_flags() && !ht_slow_records())
		return 0;
	return c.pc - ht_allocator_low >= ht_allocator_size && !ht_is_nested(c);
}

HT_INLINE long result(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

HT_INLINE void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset, struct ht_caller c)
{
	long r = ht_syscall(__NR_mmap, (long)at, (long)size, protection, flags, fd, offset);
	int failed = r < 0 && r > -4096;
	if (is_event(c))
		ht_record_stacked(HT_K_MMAP, failed ? 0 : (u64)r, size, size, 0, 0, c);
	return (void *)result(r);
}

HT_EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return map(at, size, protection, flags, fd, offset, HT_CALLER());
}

HT_EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return map(at, size, protection, flags, fd, offset, HT_CALLER());
}

// The kernel refuses these arguments. Otherwise munmap fails only if splitting a mapping would exceed the limit of
// mappings.
HT_INLINE int will_fail(const void *at, size_t size)
{
	return (u64)at % 4096 || size == 0 || size > 1ull << 47 || (u64)at > (1ull << 47) - size;
}

// Recorded before the system call, as deallocations are, because another thread may map the same range right after it.
HT_EXPORT int munmap(void *at, size_t size)
{
	struct ht_caller c = HT_CALLER();
	if (!will_fail(at, size) && is_event(c))
		ht_record_stacked(HT_K_MUNMAP, (u64)at, size, size, 0, 0, c);
	return (int)result(ht_syscall(__NR_munmap, (long)at, (long)size, 0, 0, 0, 0));
}

HT_EXPORT void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
	struct ht_caller c = HT_CALLER();
	va_list rest;
	va_start(rest, flags);
	void *at = va_arg(rest, void *); // only passed with MREMAP_FIXED; the kernel ignores it otherwise
	va_end(rest);
	long r = ht_syscall(__NR_mremap, (long)old, (long)old_size, (long)new_size, flags, (long)at, 0);
	int failed = r < 0 && r > -4096;
	struct ht_thread *t = is_event(c) ? ht_begin(c) : 0;
	if (t) {
		u32 stack = ht_capture(&t->memo, c.pc, c.sp, c.fp);
		ht_put_extra((u64 *)t->at, HT_X_OLD, (u64)old);
		t->at += 16; // published with its record
		ht_write_stacked(t, HT_K_MREMAP, failed ? 0 : (u64)r, new_size, new_size, HT_X_OLD_SIZE, old_size,
				 stack);
	}
	return (void *)result(r);
}

// libc keeps the current break in a variable of its own, so these calls must go through libc.
HT_EXPORT int brk(void *end)
{
	struct ht_caller c = HT_CALLER();
	if (ht_unlikely(!ht_real.brk))
		ht_init();
	u64 before = (u64)ht_real.sbrk(0);
	int r = ht_real.brk(end);
	if (r == 0 && is_event(c))
		ht_record_stacked(HT_K_BRK, (u64)end, 0, 0, HT_X_OLD, before, c);
	return r;
}

HT_EXPORT void *sbrk(intptr_t increment)
{
	struct ht_caller c = HT_CALLER();
	if (ht_unlikely(!ht_real.sbrk))
		ht_init();
	void *before = ht_real.sbrk(increment);
	if (increment != 0 && before != (void *)-1 && is_event(c))
		ht_record_stacked(HT_K_BRK, (u64)before + (u64)increment, 0, 0, HT_X_OLD, (u64)before, c);
	return before;
}
