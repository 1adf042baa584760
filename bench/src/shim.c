// SPDX-License-Identifier: Apache-2.0
//
// shim.c: the least that any interposing library costs. Forwards every allocation function to the next one through a
// pointer and does nothing else. What a profiler costs is measured beside this, not beside the bare program.
//
// With -DBACKTRACE each allocation also takes its call stack by the C library's backtrace(3), and throws it away: what
// the obvious way of recording costs before anything has been recorded.
#define _GNU_SOURCE
#include <execinfo.h>
#include "next.h"

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
	if (!in_boot(p))
		next_free(p);
}
