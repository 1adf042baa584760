// SPDX-License-Identifier: Apache-2.0
//
// threshold.h: the monitor that acts when an allocation has a size, or live memory exceeds a limit.
#ifndef HT_THRESHOLD_H
#define HT_THRESHOLD_H

#include "agent.h"

// HT_SLOW_THRESHOLD while it waits to act, else 0.
u64 ht_threshold_slow_flags(void);
// Reads HEAPTAP_THRESHOLD.
void ht_threshold_init(void);

// An allocation of the calling thread, p, whose caller is c, and a deallocation.
void ht_threshold_allocation(const void *p, u64 size, u64 usable, struct ht_caller c);
void ht_threshold_deallocation(u64 usable);

#endif
