// SPDX-License-Identifier: Apache-2.0
//
// tell.h: tells monitors and measures of events.
//
// While they alone are special, malloc and free are functions of their own, as those of brief.h: they do what the plain ways
// of record.h do, and then tell.
#ifndef HT_TELL_H
#define HT_TELL_H

#include "agent.h"

#pragma GCC visibility push(hidden)

// Of an allocation that returned p, of a deallocation or the begin of a realloc that is about to happen, and of the result of
// a realloc. A usable size of ~0 is unknown.
void ht_tell_allocation(u64 special, u64 size, u64 usable, const void *p);
void ht_tell_deallocation(u64 special, u64 kind, u64 usable, const void *p);
void ht_tell_result(u64 special, const void *old, u64 old_usable, u64 size, const void *p);

// The whole of an event while nothing is special but that measures or monitors are told (HT_SP_ONLY_TOLD). The hook has seen
// that no operator runs and that the stream is not busy. `frame` is the hook's own. They return p.
HT_NOINLINE void *ht_told_allocated(u64 kind, void *p, u64 size, const u64 *frame);
HT_NOINLINE void *ht_told_deallocated(u64 kind, void *p, const u64 *frame);

// What the hooks jump to meanwhile: see brief.h.
void *ht_monitored_malloc(size_t size);
void *ht_measured_malloc(size_t size);
void ht_monitored_free(void *p);
void ht_measured_free(void *p);
void *ht_told_calloc(size_t count, size_t size);

#pragma GCC visibility pop

#endif
