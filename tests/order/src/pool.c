// SPDX-License-Identifier: Apache-2.0
//
// pool.c: an allocator whose threads share one list of free blocks, last freed first used. An address that one thread
// frees is what any thread gets next. realloc stays in place or moves as chance will have it, and gives the old block
// away before it is back: the hardest case for whoever must tell which block an address was.
//
// The list is lock-free, so that a thread that a debugger stops stops no other.

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK 2048
#define BLOCKS 16384
#define HEADER 16 // the requested size, before the block
#define OTHERS (256u << 20) // for what is larger or aligned: never given back

static char pool[(size_t)BLOCK * BLOCKS] __attribute__((aligned(4096)));
static char others[OTHERS] __attribute__((aligned(4096)));
static _Atomic uint32_t next[BLOCKS];
static _Atomic uint64_t list; // index of the first free block plus 1; a counter that makes every state unique, above
static _Atomic uint32_t fresh; // blocks ever used
static _Atomic uint64_t others_used;

static size_t *size_of(void *p)
{
	return (size_t *)((char *)p - HEADER);
}

static int in_pool(void *p)
{
	return (char *)p >= pool && (char *)p < pool + sizeof(pool);
}

static void push(void *p)
{
	uint32_t i = (uint32_t)(((char *)p - pool) / BLOCK);
	uint64_t head = list;
	do
		next[i] = (uint32_t)head;
	while (!atomic_compare_exchange_weak(&list, &head, ((head >> 32) + 1) << 32 | (i + 1)));
}

static void *pop(void)
{
	uint64_t head = list;
	while ((uint32_t)head)
		if (atomic_compare_exchange_weak(&list, &head, ((head >> 32) + 1) << 32 | next[(uint32_t)head - 1]))
			return pool + (size_t)BLOCK * ((uint32_t)head - 1) + HEADER;
	uint32_t i = fresh < BLOCKS ? fresh++ : BLOCKS;
	return i < BLOCKS ? pool + (size_t)BLOCK * i + HEADER : 0;
}

static void *other(size_t alignment, size_t size)
{
	size_t room = size + alignment + HEADER + 16;
	uint64_t at = size < OTHERS ? atomic_fetch_add(&others_used, (room + 15) & ~15ull) : OTHERS;
	if (at + room > OTHERS) {
		errno = ENOMEM;
		return 0;
	}
	void *p = (void *)(((uintptr_t)others + at + HEADER + alignment - 1) & ~(uintptr_t)(alignment - 1));
	*size_of(p) = size;
	return p;
}

size_t malloc_usable_size(void *p)
{
	return p ? *size_of(p) : 0;
}

// Not malloc, which is somebody else's once a library that comes before this one has it.
static void *take(size_t size)
{
	void *p = size <= BLOCK - HEADER ? pop() : 0;
	if (!p)
		return other(16, size);
	*size_of(p) = size;
	return p;
}

void *malloc(size_t size)
{
	return take(size);
}

void free(void *p)
{
	if (p && in_pool(p))
		push(p);
}

void *calloc(size_t count, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return 0;
	}
	void *p = take(total);
	return p ? memset(p, 0, total) : 0;
}

void *realloc(void *old, size_t size)
{
	static _Atomic uint32_t turn;
	char copy[BLOCK];
	if (!old)
		return take(size);
	if (size > OTHERS || !in_pool(old)) {
		void *p = take(size);
		if (p)
			memcpy(p, old, *size_of(old) < size ? *size_of(old) : size);
		return p;
	}
	uint32_t n = turn++;
	if (n % 4 == 0 && size <= BLOCK - HEADER) {
		*size_of(old) = size;
		return old;
	}
	size_t keep = *size_of(old) < size ? *size_of(old) : size;
	memcpy(copy, old, keep);
	push(old);
	if (n % 8 == 1)
		sched_yield(); // somebody else will take it
	void *p = take(size);
	return p ? memcpy(p, copy, keep) : 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return other(alignment < 16 ? 16 : alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	return other(alignment < 16 ? 16 : alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *p = other(alignment < 16 ? 16 : alignment, size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
