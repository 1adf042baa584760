// SPDX-License-Identifier: Apache-2.0
//
// apart.h: allocations that go past the agent, for it to be said whose they are.
#ifndef HT_APART_H
#define HT_APART_H

#include "agent.h"

#pragma GCC visibility push(hidden)

// The executable defines and exports malloc: its own calls, and those of all libraries, go there.
extern u32 ht_own_malloc;
// Writes down what is known at the start.
void ht_apart_init(void);

// Under valgrind. Tools that replace malloc take the calls of everybody, our hooks' among them.
#define HT_VALGRIND_RUNS 1
#define HT_VALGRIND_REPLACES 2
extern u32 ht_valgrind;

#pragma GCC visibility pop

#endif
