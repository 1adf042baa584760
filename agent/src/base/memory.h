// SPDX-License-Identifier: Apache-2.0
//
// memory.h: private memory of the agent, from mmap. Reentrant; for any thread.
#ifndef HT_MEMORY_H
#define HT_MEMORY_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Returns private memory, zeroed; null if there is none. Sizes are rounded up to pages.
void *ht_map(u64 size);
// The same, with pages already behind it: for tables of which all pages will be touched. A fault for each costs more.
void *ht_map_filled(u64 size);
void ht_unmap(void *p, u64 size);
// Grows (possibly moves) memory from ht_map. If it returns null, the old memory is unchanged.
void *ht_remap(void *p, u64 old_size, u64 new_size);

// Sets memory aside for ht_map, before a seccomp filter is installed that will forbid mmap.
HT_COLD void ht_map_ahead(void);

#pragma GCC visibility pop

#endif
