// SPDX-License-Identifier: Apache-2.0
//
// next.h: the allocation functions that the next library has, found when the first of them is called.
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static char boot[4096] __attribute__((aligned(64)));
static size_t boot_used;

// Served while the real functions are being looked up.
static void *boot_malloc(size_t n)
{
	void *p = boot + boot_used;
	boot_used += (n + 63) & ~(size_t)63;
	return boot_used <= sizeof boot ? p : NULL;
}

static void *first_malloc(size_t n);
static void *first_calloc(size_t m, size_t n);
static void *first_realloc(void *p, size_t n);
static int first_posix_memalign(void **p, size_t a, size_t n);
static void *first_aligned_alloc(size_t a, size_t n);
static void *first_memalign(size_t a, size_t n);
static void first_free(void *p);

static void *(*next_malloc)(size_t) = first_malloc;
static void *(*next_calloc)(size_t, size_t) = first_calloc;
static void *(*next_realloc)(void *, size_t) = first_realloc;
static int (*next_posix_memalign)(void **, size_t, size_t) = first_posix_memalign;
static void *(*next_aligned_alloc)(size_t, size_t) = first_aligned_alloc;
static void *(*next_memalign)(size_t, size_t) = first_memalign;
static void (*next_free)(void *) = first_free;
static int busy;

static void resolve(void)
{
	if (busy)
		return;
	busy = 1;
	void *m = dlsym(RTLD_NEXT, "malloc"), *c = dlsym(RTLD_NEXT, "calloc"), *r = dlsym(RTLD_NEXT, "realloc");
	void *p = dlsym(RTLD_NEXT, "posix_memalign"), *a = dlsym(RTLD_NEXT, "aligned_alloc");
	void *e = dlsym(RTLD_NEXT, "memalign"), *f = dlsym(RTLD_NEXT, "free");
	next_malloc = m;
	next_calloc = c;
	next_realloc = r;
	next_posix_memalign = p;
	next_aligned_alloc = a;
	next_memalign = e;
	next_free = f;
}

static void *first_malloc(size_t n)
{
	resolve();
	return next_malloc == first_malloc ? boot_malloc(n) : next_malloc(n);
}

static void *first_calloc(size_t m, size_t n)
{
	resolve();
	return next_calloc == first_calloc ? boot_malloc(m * n) : next_calloc(m, n);
}

static void *first_realloc(void *p, size_t n)
{
	resolve();
	return next_realloc == first_realloc ? NULL : next_realloc(p, n);
}

static int first_posix_memalign(void **p, size_t a, size_t n)
{
	resolve();
	return next_posix_memalign(p, a, n);
}

static void *first_aligned_alloc(size_t a, size_t n)
{
	resolve();
	return next_aligned_alloc(a, n);
}

static void *first_memalign(size_t a, size_t n)
{
	resolve();
	return next_memalign(a, n);
}

static void first_free(void *p)
{
	resolve();
	if (next_free != first_free)
		next_free(p);
}

static int in_boot(const void *p)
{
	return (size_t)((const char *)p - boot) < sizeof boot;
}
