// SPDX-License-Identifier: Apache-2.0
//
// regions.h: the regions that a thread is in, for a forked child, which goes on in them.
#ifndef HT_REGIONS_H
#define HT_REGIONS_H

#include "base/base.h"

#define HT_REGION_IDS 4

struct ht_regions; // private to regions.c

struct ht_region {
	u32 name; // its id; 0: it is being entered or was left
	u32 count; // of the ids
	u64 ids[HT_REGION_IDS];
};

// The calling thread enters a region, and leaves the innermost one of that name.
void ht_region_enter(const struct ht_region *region);
void ht_region_leave(u32 name);
// The thread has ended: its state will serve another one.
void ht_regions_leave(struct ht_regions *regions);
// In a forked child: hands over the regions that the thread is in, from the outermost on.
void ht_regions_after_fork(void (*enter)(const struct ht_region *region));

#endif
