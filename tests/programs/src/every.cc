// SPDX-License-Identifier: Apache-2.0
//
// every.cc: calls each allocation and deallocation function once, each from a function of its own, with a unique size.
// After each call, after() allocates again: a guard that stayed set would hide that. every.go has the table of what
// must be found.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <unistd.h>

#define NI __attribute__((noinline, noclone))

// Not in every libc: the agent must provide them.
extern "C" {
void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
void cfree(void *) __attribute__((weak));
}

using std::align_val_t;
using std::nothrow;

static void *volatile hold;
static volatile size_t huge = size_t(1) << 62;
static void *volatile none; // gcc turns realloc(nullptr, n) into malloc(n)

extern "C" NI void after()
{
	hold = malloc(7);
	free(hold);
}

#define SITE(name, get, put) \
	extern "C" NI void name() \
	{ \
		void *p = get; \
		hold = p; \
		after(); \
		put; \
		hold = nullptr; \
		after(); \
		__asm__ volatile("" ::: "memory"); /* no tail call: this frame must be seen */ \
	}

static void *aligned(size_t n)
{
	void *p = nullptr;
	return posix_memalign(&p, 256, n) ? nullptr : p;
}

SITE(site_malloc, malloc(1001), free(p))
SITE(site_calloc, calloc(2, 501), free(p))
SITE(site_calloc_one, calloc(1, 1003), free(p))
SITE(site_realloc_null, realloc(none, 1004), free(p))
SITE(site_reallocarray_null, reallocarray(nullptr, 5, 201), free(p))
SITE(site_posix_memalign, aligned(1006), free(p))
SITE(site_aligned_alloc, aligned_alloc(64, 1024), free(p))
SITE(site_memalign, memalign(128, 1008), free(p))
SITE(site_valloc, valloc(1009), free(p))
SITE(site_pvalloc, pvalloc(1010), free(p))
SITE(site_free_sized, malloc(1011), free_sized ? free_sized(p, 1011) : free(p))
SITE(site_free_aligned_sized, aligned_alloc(32, 1056), free_aligned_sized ? free_aligned_sized(p, 32, 1056) : free(p))
SITE(site_cfree, malloc(1013), cfree ? cfree(p) : free(p))
SITE(site_new, ::operator new(1014), ::operator delete(p))
SITE(site_new_array, ::operator new[](1015), ::operator delete[](p))
SITE(site_new_nothrow, ::operator new(1016, nothrow), ::operator delete(p, nothrow))
SITE(site_new_array_nothrow, ::operator new[](1017, nothrow), ::operator delete[](p, nothrow))
SITE(site_new_sized, ::operator new(1018), ::operator delete(p, size_t(1018)))
SITE(site_new_array_sized, ::operator new[](1019), ::operator delete[](p, size_t(1019)))
SITE(site_new_aligned, ::operator new(1020, align_val_t(64)), ::operator delete(p, align_val_t(64)))
SITE(site_new_array_aligned, ::operator new[](1021, align_val_t(64)), ::operator delete[](p, align_val_t(64)))
SITE(site_new_aligned_nothrow, ::operator new(1022, align_val_t(64), nothrow),
     ::operator delete(p, align_val_t(64), nothrow))
SITE(site_new_array_aligned_nothrow, ::operator new[](1023, align_val_t(64), nothrow),
     ::operator delete[](p, align_val_t(64), nothrow))
SITE(site_new_sized_aligned, ::operator new(1025, align_val_t(64)), ::operator delete(p, size_t(1025), align_val_t(64)))
SITE(site_new_array_sized_aligned, ::operator new[](1026, align_val_t(64)),
     ::operator delete[](p, size_t(1026), align_val_t(64)))
SITE(site_new_zero, ::operator new(0), ::operator delete(p))
SITE(site_malloc_zero, malloc(0), free(p))
SITE(site_free_null, nullptr, free(p))
SITE(site_delete_null, nullptr, ::operator delete(p))

// Failures: each is an event without a block.
SITE(site_malloc_fails, malloc(huge), free(p))
SITE(site_calloc_fails, calloc(huge, 64), free(p))
SITE(site_memalign_fails, memalign(64, huge), free(p))
SITE(site_posix_memalign_fails, aligned(huge), free(p))
SITE(site_reallocarray_fails, reallocarray(nullptr, huge, 64), free(p))
SITE(site_new_nothrow_fails, ::operator new(huge, nothrow), ::operator delete(p))
SITE(site_new_array_nothrow_fails, ::operator new[](huge, nothrow), ::operator delete[](p))

extern "C" NI void site_realloc()
{
	void *(*volatile resize)(void *, size_t) = realloc; // hides the call from the optimizer
	void *p = malloc(2001);
	p = resize(p, 2002); // grows in place or moves: one deallocation and one allocation
	after();
	p = reallocarray(p, 3, 10001);
	after();
	void *q = resize(p, huge); // fails: p stays live
	after();
	hold = q;
	q = resize(p, 0); // frees on glibc
	hold = q;
	after();
	if (q)
		free(q);
	__asm__ volatile("" ::: "memory");
}

int main()
{
	void (*all[])() = {
		site_malloc,
		site_calloc,
		site_calloc_one,
		site_realloc_null,
		site_reallocarray_null,
		site_posix_memalign,
		site_aligned_alloc,
		site_memalign,
		site_valloc,
		site_pvalloc,
		site_free_sized,
		site_free_aligned_sized,
		site_cfree,
		site_new,
		site_new_array,
		site_new_nothrow,
		site_new_array_nothrow,
		site_new_sized,
		site_new_array_sized,
		site_new_aligned,
		site_new_array_aligned,
		site_new_aligned_nothrow,
		site_new_array_aligned_nothrow,
		site_new_sized_aligned,
		site_new_array_sized_aligned,
		site_new_zero,
		site_malloc_zero,
		site_free_null,
		site_delete_null,
		site_malloc_fails,
		site_calloc_fails,
		site_memalign_fails,
		site_posix_memalign_fails,
		site_reallocarray_fails,
		site_new_nothrow_fails,
		site_new_array_nothrow_fails,
		site_realloc,
	};
	for (auto site : all)
		site();
	return write(1, "done\n", 5) == 5 ? 0 : 1;
}
