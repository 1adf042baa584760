// SPDX-License-Identifier: Apache-2.0
//
// foreign.c: the functions of an allocator that is not glibc's, each under a guard.
//
// Such an allocator may call its own functions by their public names: calloc is malloc and a memset, realloc is malloc, a
// copy and free. Those calls come to our hooks, but are no calls of the program's. glibc's functions do not do that, and
// their hooks pay nothing.

#include "guard.h"
#include "record.h"

static struct ht_real direct;

#define GUARDED(TYPE, name, PARAMETERS, ARGUMENTS) \
	static TYPE guarded_##name PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		TYPE result; \
		HT_GUARDED(0, 0, 0, 0, c, result = direct.name ARGUMENTS); \
		return result; \
	}

#define GUARDED_VOID(name, PARAMETERS, ARGUMENTS) \
	static void guarded_##name PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		HT_GUARDED(0, 0, 0, 0, c, direct.name ARGUMENTS); \
	}

GUARDED(void *, malloc, (size_t size), (size))
GUARDED(void *, calloc, (size_t count, size_t size), (count, size))
GUARDED(void *, realloc, (void *p, size_t size), (p, size))
GUARDED(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size))
GUARDED(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
GUARDED(void *, memalign, (size_t alignment, size_t size), (alignment, size))
GUARDED(void *, valloc, (size_t size), (size))
GUARDED(void *, pvalloc, (size_t size), (size))
GUARDED_VOID(free, (void *p), (p))
GUARDED_VOID(free_sized, (void *p, size_t size), (p, size))
GUARDED_VOID(free_aligned_sized, (void *p, size_t alignment, size_t size), (p, alignment, size))

void ht_foreign_init(void)
{
	direct = ht_real;
#define GUARD(name) \
	if (direct.name) \
	ht_real.name = guarded_##name
	GUARD(malloc);
	GUARD(calloc);
	GUARD(realloc);
	GUARD(posix_memalign);
	GUARD(aligned_alloc);
	GUARD(memalign);
	GUARD(valloc);
	GUARD(pvalloc);
	GUARD(free);
	GUARD(free_sized);
	GUARD(free_aligned_sized);
}
