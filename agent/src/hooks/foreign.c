// SPDX-License-Identifier: Apache-2.0
//
// foreign.c: puts a guard around each function of an allocator other than glibc's.
//
// Such an allocator may call its own functions by their public names: calloc is malloc and a memset, realloc is malloc,
// a copy and free. Those calls reach our hooks, but are not calls of the program. glibc's functions do not do that, so
// their hooks need no guard.

#include "base/local.h"
#include "record/real.h"
#include "record/record.h"
#include "hooks/guard.h"

static struct ht_real direct;

#define GUARDED(TYPE, name, kind, PARAMETERS, ARGUMENTS) \
	static TYPE guarded_##name PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		TYPE result; \
		HT_GUARDED(0, 0, 0, 0, c, result = direct.name ARGUMENTS); \
		return result; \
	}

#define GUARDED_VOID(TYPE, name, kind, PARAMETERS, ARGUMENTS) \
	static void guarded_##name PARAMETERS \
	{ \
		struct ht_caller c = HT_CALLER(); \
		HT_GUARDED(0, 0, 0, 0, c, direct.name ARGUMENTS); \
	}

HT_REAL_CALLS(GUARDED, GUARDED_VOID)

void ht_foreign_init(void)
{
	direct = ht_real;
#define GUARD(TYPE, name, ...) \
	if (direct.name) \
		ht_real.name = guarded_##name;
	HT_REAL_CALLS(GUARD, GUARD)
}
