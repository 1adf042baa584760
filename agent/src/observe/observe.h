// SPDX-License-Identifier: Apache-2.0
//
// observe.h: calls monitors and measures for events.
//
// While theirs are the only slow flags, malloc and free have separate functions, like those of fast_hooks.h: they
// record as the fast paths of record.h do, and then call.
#ifndef HT_OBSERVE_H
#define HT_OBSERVE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// The functions to which the hooks jump meanwhile, see fast_hooks.h.
void *ht_monitored_malloc(size_t size);
void *ht_measured_malloc(size_t size);
void ht_monitored_free(void *p);
void ht_measured_free(void *p);
void *ht_observed_calloc(size_t count, size_t size);

#pragma GCC visibility pop

#endif
