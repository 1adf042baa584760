// SPDX-License-Identifier: Apache-2.0
//
// api.h: what the program has asked of the agent by heaptap.h, as far as events have to know.
#ifndef HT_API_H
#define HT_API_H

#include "agent.h"

// What of it is special: HT_SP_PAUSED, HT_SP_MEASURE, HT_SP_MONITOR. Whoever changes that calls ht_mode_changed.
u64 ht_api_special(void);

// Tell monitors and measures: of an allocation that returned p, of a deallocation or the begin of a realloc that is about
// to happen, and of the result of a realloc. A usable size of ~0 is unknown.
void ht_tell_allocation(u64 special, u64 size, u64 usable, const void *p);
void ht_tell_deallocation(u64 special, u64 kind, u64 usable, const void *p);
void ht_tell_result(u64 special, const void *old, u64 old_usable, u64 size, const void *p);

// The thread has ended: it is not paused, and serves no pool.
void ht_has_ended(struct ht_thread *t);
// The same for all threads that have.
HT_COLD void ht_look_for_ended(void);
// The first two, for blocks of glibc's, by the calling thread, whose state is t. They return p. What is allocated is no mapping
// of its own.
void *ht_tell_allocated(u64 size, void *p, struct ht_thread *t);
void *ht_tell_deallocated(void *p, struct ht_thread *t);

void ht_api_after_fork(void);
// The child has its own streams.
void ht_api_forked(void);

#endif
