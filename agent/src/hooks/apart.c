// SPDX-License-Identifier: Apache-2.0
//
// apart.c: implements apart.h, with hooks for dlopen and dlmopen.
//
// A library that is opened with RTLD_DEEPBIND finds libc's malloc before ours. A library in another namespace has a
// libc of its own. The hooks note the library's name and change nothing else: they end by jumping to the real function,
// which depends on its return address.

#include <dlfcn.h>
#include <fcntl.h>

#include "hooks/apart.h"
#include "base/state.h"
#include "base/sys.h"
#include "unwind/modules.h"
#include "record/real.h"

#define NAMES 64 // the most libraries that are reported

u32 ht_own_malloc;

void *(*ht_real_dlopen)(const char *name, int flags);
void *(*ht_real_dlmopen)(Lmid_t space, const char *name, int flags);

static u32 noted[NAMES]; // hashes of names
static u32 noted_count;

static int is_news(const char *name, u32 why)
{
	u32 hash = why, n = ht_load(&noted_count);
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (u8)*c;
	for (u32 i = 0; i < n && i < NAMES; i++)
		if (ht_load(&noted[i]) == hash)
			return 0;
	n = n < NAMES ? __atomic_fetch_add(&noted_count, 1, __ATOMIC_RELAXED) : NAMES;
	if (n >= NAMES)
		return 0;
	ht_store(&noted[n], hash);
	return 1;
}

// Programs also try paths of files that do not exist.
static int is_there(const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c == '/')
			return ht_sys3(__NR_faccessat, AT_FDCWD, name, 0) >= 0;
	return 1; // the loader searches for it
}

static void note(const char *name, u32 why)
{
	if (name && *name && ht_init() && is_there(name) && is_news(name, why))
		ht_module_apart(why, name);
}

void ht_apart_init(void)
{
	if (ht_own_malloc)
		ht_module_apart(HT_APART_MALLOC, "");
}

// Called by the stubs if the real function is not known yet, or if there is something to note.
__attribute__((used)) void ht_dlopen_first(const char *name, int flags)
{
	if (!ht_real_dlopen)
		ht_real_late("dlopen", (void **)&ht_real_dlopen);
	if (flags & RTLD_DEEPBIND)
		note(name, HT_APART_DEEPBIND);
}

__attribute__((used)) void ht_dlmopen_first(Lmid_t space, const char *name, int flags)
{
	(void)flags;
	if (!ht_real_dlmopen)
		ht_real_late("dlmopen", (void **)&ht_real_dlmopen);
	if (space != LM_ID_BASE)
		note(name, HT_APART_NAMESPACE);
}

HT_TAIL_HOOK(dlopen, "testb $8, %sil", ht_dlopen_first, ht_real_dlopen); // RTLD_DEEPBIND
HT_TAIL_HOOK(dlmopen, "testq %rdi, %rdi", ht_dlmopen_first, ht_real_dlmopen); // LM_ID_BASE is 0
