// SPDX-License-Identifier: Apache-2.0
//
// filter.h: what a program forbids itself, and so the agent: system calls, by seccomp, and to read the timestamp
// counter.
//
// Every system call of the agent's goes through ht_call (sys.h), which asks here as soon as there is a filter. A call
// that a filter would not simply let pass is not made: it fails with EPERM, as if the kernel had refused it. Programs'
// own calls that come by our hooks go to the kernel as they are.
#ifndef HT_FILTER_H
#define HT_FILTER_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Looks for filters that this image has inherited. -1: there are some that nothing is known of, and the agent steps
// aside.
int ht_filter_init(void);

// A thread's state is made: what it may do is known if nothing is forbidden yet.
void ht_filter_begin_thread(void);

// May this thread read the timestamp counter? Otherwise, nothing of what it does is recorded.
HT_INLINE int ht_clock_is_allowed(void)
{
	extern u32 ht_clock_is_doubtful;
	int ht_ask_clock(void);
	return ht_likely(!ht_load(&ht_clock_is_doubtful)) || ht_ask_clock();
}

#pragma GCC visibility pop

#endif
