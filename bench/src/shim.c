// SPDX-License-Identifier: Apache-2.0
//
// shim.c: the least that any interposing library costs. Forwards every allocation function to the next one through a
// pointer and does nothing else. What a profiler costs is measured beside this, not beside the bare program.
//
// With -DBACKTRACE each allocation also takes its call stack by the C library's backtrace(3), and throws it away: what
// the obvious way of recording costs before anything has been recorded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdint.h>

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

#ifdef BACKTRACE
#define LOCAL static __thread __attribute__((tls_model("initial-exec")))
LOCAL int inside; // backtrace allocates when it is called first
LOCAL void *frames[1024];

static void take_stack(void)
{
	if (inside)
		return;
	inside = 1;
	backtrace(frames, 1024);
	inside = 0;
}
#else
static void take_stack(void)
{
}
#endif

EXPORT void *malloc(size_t n)
{
	take_stack();
	return next_malloc(n);
}

EXPORT void *calloc(size_t m, size_t n)
{
	take_stack();
	return next_calloc(m, n);
}

EXPORT void *realloc(void *p, size_t n)
{
	take_stack();
	return next_realloc(p, n);
}

EXPORT int posix_memalign(void **p, size_t a, size_t n)
{
	take_stack();
	return next_posix_memalign(p, a, n);
}

EXPORT void *aligned_alloc(size_t a, size_t n)
{
	take_stack();
	return next_aligned_alloc(a, n);
}

EXPORT void *memalign(size_t a, size_t n)
{
	take_stack();
	return next_memalign(a, n);
}

EXPORT void free(void *p)
{
	if ((char *)p < boot || (char *)p >= boot + sizeof boot)
		next_free(p);
}
