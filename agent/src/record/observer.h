// SPDX-License-Identifier: Apache-2.0
//
// observer.h: the functions of later folders that recording calls: monitors, measures, thresholds and the program's own
// requests.
#ifndef HT_OBSERVER_H
#define HT_OBSERVER_H

#include "base/local.h"

#pragma GCC visibility push(hidden)

struct ht_measures;
struct ht_thread;

// observe/observe.c

// Called after an allocation that returned p, before a deallocation or a realloc, and with the result of a realloc. A
// usable size of ~0 is unknown.
void ht_observe_allocation(u64 flags, u64 size, u64 usable, const void *p);
void ht_observe_deallocation(u64 flags, u64 kind, u64 usable, const void *p);
void ht_observe_result(u64 flags, const void *old, u64 old_usable, u64 size, const void *p);

// Record and observe an event while only the flags of measures or monitors are set (HT_SLOW_ONLY_OBSERVED). The hook
// has checked that no operator runs and that the stream is not busy. `frame` is the hook's own. They return p.
HT_NOINLINE void *ht_observed_allocated(u64 kind, void *p, u64 size, const u64 *frame);
HT_NOINLINE void *ht_observed_deallocated(u64 kind, void *p, const u64 *frame);

// observe/threshold.c

// Returns HT_SLOW_THRESHOLD while the threshold may still act, else 0.
u64 ht_threshold_slow_flags(void);
// Called for an allocation of the calling thread, p, whose caller is c, and for a deallocation.
void ht_threshold_allocation(const void *p, u64 size, u64 usable, struct ht_caller c);
void ht_threshold_deallocation(u64 usable);

// observe/measure.c: called when the thread has ended and another one will use its state.
void ht_measures_leave(struct ht_measures *measures);

// hooks/api.c

// Returns HT_SLOW_PAUSED, HT_SLOW_MEASURE and HT_SLOW_MONITOR as the program has set them. To change them, call
// ht_mode_changed afterwards.
u64 ht_api_slow_flags(void);

// Called when the thread has ended: it is no longer paused, and serves no pool.
void ht_has_ended(struct ht_thread *t);
// The same for all threads that have ended.
HT_COLD void ht_look_for_ended(void);

// hooks/fast_hooks.c

// Chooses the functions that fit the new ht_state.slow_flags.
HT_COLD void ht_fast_hooks_choose(u64 flags);

#pragma GCC visibility pop

#endif
