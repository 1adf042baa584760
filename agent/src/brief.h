// SPDX-License-Identifier: Apache-2.0
//
// brief.h: malloc, calloc and free while nothing is special but that the mode is sampled or count, or recording is off; or that
// monitors or measures are told (tell.c).
//
// Then nearly all calls come to nothing, or to a few additions. The hooks' own ways begin with what a record needs, so these
// are functions of their own, to which the hooks jump as their first act: they find the stack as the hook found it.
#ifndef HT_BRIEF_H
#define HT_BRIEF_H

#include "agent.h"

#pragma GCC visibility push(hidden)

struct ht_brief {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
};
extern struct ht_brief ht_brief;

// Is this how calls go? Never in a forked child that has not noticed yet.
HT_INLINE int ht_is_brief(void)
{
	return ht_unlikely(ht_state->way ==
			   HT_WAY_BRIEF); // not by ht_load: so that the compiler compares it where it lies
}

// Goes by what ht_state.special has become.
HT_COLD void ht_brief_follow(u64 special);
// From now on there is a module that may be unloaded: deallocations by the loader may mean that it has been.
HT_COLD void ht_brief_watch(void);
// The agent does nothing in this process: the hooks jump to the real functions.
HT_COLD void ht_brief_aside(void);

#pragma GCC visibility pop

#endif
