// SPDX-License-Identifier: Apache-2.0
//
// cyg.c: the functions that code built with -finstrument-functions calls when a function begins and ends. They see
// every call, including calls of functions that never allocate, so the depth of the stack is known exactly.

#include "base/local.h"
#include "unwind/shadow.h"
#include "record/record.h"
#include "record/thread.h"

// A new lowest stack pointer is recorded when it reaches the next step of 4 KiB, or when the function ends.
HT_COLD static void lower(struct ht_thread *t, struct ht_caller c)
{
	t->pending_depth = c.sp;
	if (c.sp < t->deep)
		ht_deeper(c);
}

HT_EXPORT void __cyg_profile_func_enter(void *function, void *site)
{
	struct ht_caller c = HT_CALLER();
	struct ht_thread *t = ht_local.thread;
	(void)function;
	if (ht_unlikely(c.sp < t->deepest))
		lower(t, c);
	if (ht_unlikely(ht_enter_exit))
		ht_shadow_enter((u64)site, c);
}

HT_EXPORT void __cyg_profile_func_exit(void *function, void *site)
{
	struct ht_caller c = HT_CALLER();
	struct ht_thread *t = ht_local.thread;
	(void)function;
	if (ht_unlikely(t->pending_depth != 0)) {
		if (c.sp <= t->pending_depth && c.sp < t->deepest)
			ht_deeper(c);
		t->pending_depth = 0;
	}
	if (ht_unlikely(ht_enter_exit))
		ht_shadow_exit((u64)site, c);
}
