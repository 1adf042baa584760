// SPDX-License-Identifier: Apache-2.0
//
// filter.h: what a program has forbidden itself, and therefore the agent: system calls (by seccomp), and reading the
// timestamp counter.
//
// Every system call of the agent goes through ht_call (sys.h). As soon as there is a filter, ht_call asks this module.
// A call that a filter would not simply allow is not made: it fails with EPERM, as if the kernel had refused it. The
// program's own calls that pass through our hooks go to the kernel unchanged.
#ifndef HT_FILTER_H
#define HT_FILTER_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Looks for filters that this image has inherited. Returns -1 if there are some that are not known; the agent then
// steps aside.
int ht_filter_init(void);

// Called when a thread's state is made. If there is no filter yet, the thread's list is known to be complete.
void ht_filter_begin_thread(void);

// Whether this thread may read the timestamp counter. If not, none of its events are recorded.
HT_INLINE int ht_clock_is_allowed(void)
{
	extern u32 ht_clock_is_doubtful;
	int ht_ask_clock(void);
	return ht_likely(!ht_load(&ht_clock_is_doubtful)) || ht_ask_clock();
}

#pragma GCC visibility pop

#endif
