// SPDX-License-Identifier: Apache-2.0
//
// memory.h: private memory of the agent's own, from mmap. Reentrant; for any thread.
#ifndef HT_MEMORY_H
#define HT_MEMORY_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Private memory of the agent's own, zeroed; null if there is none. Sizes are rounded up to pages.
void *ht_map(u64 size);
void ht_unmap(void *p, u64 size);
// Grows (possibly moves) what ht_map gave; null leaves the old one as it was.
void *ht_remap(void *p, u64 old_size, u64 new_size);

// Before a seccomp filter is installed that will forbid to map memory: a reserve for ht_map.
HT_COLD void ht_map_ahead(void);

#pragma GCC visibility pop

#endif
