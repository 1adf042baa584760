// SPDX-License-Identifier: Apache-2.0
//
// api.h: what the program has asked of the agent by heaptap.h, as far as events have to know.
#ifndef HT_API_H
#define HT_API_H

#include "agent.h"

#define HEAPTAP_AGENT
#include "../../include/heaptap/heaptap.h"

HT_EXPORT heaptap_api_function heaptap_api;

// What of it is special: HT_SLOW_PAUSED, HT_SLOW_MEASURE, HT_SLOW_MONITOR. Whoever changes that calls ht_mode_changed.
u64 ht_api_slow_flags(void);

// The thread has ended: it is not paused, and serves no pool.
void ht_has_ended(struct ht_thread *t);
// The same for all threads that have.
HT_COLD void ht_look_for_ended(void);

void ht_api_after_fork(void);
// The child has its own streams.
void ht_api_forked(void);

#endif
