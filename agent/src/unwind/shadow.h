// SPDX-License-Identifier: Apache-2.0
//
// shadow.h: call stacks without unwinding, for code built with -finstrument-functions (HEAPTAP_STACK=enter-exit).
#ifndef HT_SHADOW_H
#define HT_SHADOW_H

#include "base/base.h"
#include "base/local.h"

struct ht_memo;

// Not 0: call stacks are built this way.
extern u32 ht_enter_exit;
// Reads the setting from the environment.
void ht_shadow_init(void);
// Called when a function, called from `site`, has begun, or is about to end. c is its call of the agent.
void ht_shadow_enter(u64 site, struct ht_caller c);
void ht_shadow_exit(u64 site, struct ht_caller c);
// Returns the stack id of an event, like ht_capture; 0: use the unwinder instead. Called with busy set.
HT_NOINLINE u32 ht_shadow_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);

#endif
