// SPDX-License-Identifier: Apache-2.0
//
// fast_hooks.h: malloc, calloc and free for three cases: sampled or count mode, or recording is off, and no other flag
// is set; or only monitors or measures are set (observe.c).
//
// Then nearly every call does nothing, or a few additions. The code of the hooks themselves begins with what a record
// needs. So these are separate functions, to which the hooks jump first, with the stack unchanged.
#ifndef HT_FAST_HOOKS_H
#define HT_FAST_HOOKS_H

#include "base/base.h"
#include "base/state.h"

#pragma GCC visibility push(hidden)

struct ht_fast_hooks {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
};
extern struct ht_fast_hooks ht_fast_hooks;

// Whether the hooks jump to these functions. Never in a forked child that has not noticed the fork yet.
HT_INLINE int ht_uses_fast_hooks(void)
{
	return ht_unlikely(ht_state->dispatch ==
			   HT_DISPATCH_FAST_HOOKS); // without ht_load, so that the compiler compares it in memory
}

// The agent does nothing in this process: the hooks jump to the real functions.
HT_COLD void ht_fast_hooks_bypass(void);

#pragma GCC visibility pop

#endif
