// SPDX-License-Identifier: Apache-2.0
//
// apart.h: notes which allocations bypass the agent, so that the recording can name them.
#ifndef HT_APART_H
#define HT_APART_H

#include "base/base.h"
#include "unwind/modules.h"

#pragma GCC visibility push(hidden)

// The executable defines and exports malloc: its own calls, and those of all libraries, go there.
extern u32 ht_own_malloc;
// Notes what is known at the start.
void ht_apart_init(void);

#pragma GCC visibility pop

#endif
