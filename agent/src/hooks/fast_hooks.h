// SPDX-License-Identifier: Apache-2.0
//
// fast_hooks.h: malloc, calloc and free while the mode is sampled or count, or recording is off, and nothing else is
// set; or while monitors or measures are all that is (observe.c).
//
// Then nearly all calls come to nothing, or to a few additions. The hooks' own code begins with what a record needs, so
// these are functions of their own, to which the hooks jump as their first act: they find the stack as the hook found
// it.
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

// Do the hooks jump to these? Never in a forked child that has not noticed yet.
HT_INLINE int ht_uses_fast_hooks(void)
{
	return ht_unlikely(ht_state->dispatch ==
			   HT_DISPATCH_FAST_HOOKS); // not by ht_load: so that the compiler compares it where it lies
}

// The agent does nothing in this process: the hooks jump to the real functions.
HT_COLD void ht_fast_hooks_bypass(void);

#pragma GCC visibility pop

#endif
