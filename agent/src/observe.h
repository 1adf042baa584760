// SPDX-License-Identifier: Apache-2.0
//
// observe.h: calls monitors and measures for events.
//
// While theirs are the only slow flags, malloc and free are functions of their own, as those of fast_hooks.h: they record as the
// short paths of record.h do, and then call.
#ifndef HT_OBSERVE_H
#define HT_OBSERVE_H

#include "agent.h"

#pragma GCC visibility push(hidden)

// Of an allocation that returned p, of a deallocation or the begin of a realloc that is about to happen, and of the result of
// a realloc. A usable size of ~0 is unknown.
void ht_observe_allocation(u64 flags, u64 size, u64 usable, const void *p);
void ht_observe_deallocation(u64 flags, u64 kind, u64 usable, const void *p);
void ht_observe_result(u64 flags, const void *old, u64 old_usable, u64 size, const void *p);

// The whole of an event while no flags are set but those of measures or monitors (HT_SLOW_ONLY_OBSERVED). The hook has seen
// that no operator runs and that the stream is not busy. `frame` is the hook's own. They return p.
HT_NOINLINE void *ht_observed_allocated(u64 kind, void *p, u64 size, const u64 *frame);
HT_NOINLINE void *ht_observed_deallocated(u64 kind, void *p, const u64 *frame);

// What the hooks jump to meanwhile: see fast_hooks.h.
void *ht_monitored_malloc(size_t size);
void *ht_measured_malloc(size_t size);
void ht_monitored_free(void *p);
void ht_measured_free(void *p);
void *ht_observed_calloc(size_t count, size_t size);

#pragma GCC visibility pop

#endif
