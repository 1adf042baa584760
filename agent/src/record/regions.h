// SPDX-License-Identifier: Apache-2.0
//
// regions.h: the regions that a thread is in, for a forked child, which continues in them.
#ifndef HT_REGIONS_H
#define HT_REGIONS_H

#include "base/base.h"

#define HT_REGION_IDS 4

struct ht_regions; // private to regions.c

struct ht_region {
	u32 name; // the name's id; 0: it is being entered or was left
	u32 count; // number of ids
	u64 ids[HT_REGION_IDS];
};

// The calling thread enters a region, and leaves the innermost one of that name.
void ht_region_enter(const struct ht_region *region);
void ht_region_leave(u32 name);
// Called when the thread has ended and another one will use its state.
void ht_regions_leave(struct ht_regions *regions);
// In a forked child: writes the regions that the thread is in to its new stream, the outermost first.
void ht_regions_after_fork(void (*enter)(const struct ht_region *region));

#endif
