// SPDX-License-Identifier: Apache-2.0
//
// empty.c: an allocator that does nothing. It hands out addresses that are never used again. What a replay costs with
// it is the player's own cost. Memory is only there for what libc itself allocates: the player touches none of it.

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define REGION (1ull << 42)
#define SHARE (1ull << 24) // of the region, for a thread

static uintptr_t region;
static uint64_t taken;
static __thread uintptr_t at, limit;

static __attribute__((noinline, cold)) void *refill(size_t size)
{
	uintptr_t base = __atomic_load_n(&region, __ATOMIC_ACQUIRE);
	if (!base) {
		void *p = mmap(0, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return 0;
		if (__atomic_compare_exchange_n(&region, &base, (uintptr_t)p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			base = (uintptr_t)p;
		else
			munmap(p, REGION);
	}
	if (size > SHARE)
		return (void *)(base + REGION / 2);
	at = base + __atomic_fetch_add(&taken, SHARE, __ATOMIC_RELAXED) % REGION;
	limit = at + SHARE;
	void *p = (void *)at;
	at += size;
	return p;
}

EXPORT void *malloc(size_t size)
{
	uintptr_t p = at;
	size = (size + 15) & ~15ull;
	if (size > limit - p)
		return refill(size);
	at = p + size;
	return (void *)p;
}

EXPORT void free(void *p)
{
	(void)p;
}

EXPORT void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

EXPORT void *realloc(void *p, size_t size)
{
	(void)p;
	return malloc(size);
}

EXPORT void *memalign(size_t align, size_t size)
{
	uintptr_t p = (uintptr_t)malloc(size + align);
	return (void *)((p + align - 1) & ~(uintptr_t)(align - 1));
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

EXPORT int posix_memalign(void **p, size_t align, size_t size)
{
	*p = memalign(align, size);
	return *p ? 0 : ENOMEM;
}
