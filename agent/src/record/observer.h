// SPDX-License-Identifier: Apache-2.0
//
// observer.h: what recording calls of the folders that come after it: monitors, measures, thresholds and the program's
// own requests.
#ifndef HT_OBSERVER_H
#define HT_OBSERVER_H

#include "base/local.h"

#pragma GCC visibility push(hidden)

struct ht_measures;
struct ht_thread;

// observe/observe.c

// Of an allocation that returned p, of a deallocation or the begin of a realloc that is about to happen, and of the
// result of a realloc. A usable size of ~0 is unknown.
void ht_observe_allocation(u64 flags, u64 size, u64 usable, const void *p);
void ht_observe_deallocation(u64 flags, u64 kind, u64 usable, const void *p);
void ht_observe_result(u64 flags, const void *old, u64 old_usable, u64 size, const void *p);

// The whole of an event while no flags are set but those of measures or monitors (HT_SLOW_ONLY_OBSERVED). The hook has
// seen that no operator runs and that the stream is not busy. `frame` is the hook's own. They return p.
HT_NOINLINE void *ht_observed_allocated(u64 kind, void *p, u64 size, const u64 *frame);
HT_NOINLINE void *ht_observed_deallocated(u64 kind, void *p, const u64 *frame);

// observe/threshold.c

// HT_SLOW_THRESHOLD while it waits to act, else 0.
u64 ht_threshold_slow_flags(void);
// An allocation of the calling thread, p, whose caller is c, and a deallocation.
void ht_threshold_allocation(const void *p, u64 size, u64 usable, struct ht_caller c);
void ht_threshold_deallocation(u64 usable);

// observe/measure.c: the thread has ended, its state will serve another one.
void ht_measures_leave(struct ht_measures *measures);

// hooks/api.c

// HT_SLOW_PAUSED, HT_SLOW_MEASURE, HT_SLOW_MONITOR, as the program has asked. Whoever changes that calls
// ht_mode_changed.
u64 ht_api_slow_flags(void);

// The thread has ended: it is not paused, and serves no pool.
void ht_has_ended(struct ht_thread *t);
// The same for all threads that have.
HT_COLD void ht_look_for_ended(void);

// hooks/fast_hooks.c

// Chooses the functions for what ht_state.slow_flags has become.
HT_COLD void ht_fast_hooks_choose(u64 flags);

#pragma GCC visibility pop

#endif
