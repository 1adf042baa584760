// SPDX-License-Identifier: Apache-2.0
//
// regions.c: the regions that a thread is in. The recorder knows them from the notes in the stream, but a forked
// child's stream does not contain its parent's.
//
// A signal handler may enter and leave regions at any time, so a place is claimed before it is filled.

#include "record/regions.h"
#include "base/local.h"
#include "base/memory.h"
#include "record/thread.h"

struct ht_regions {
	u64 size; // of the mapping
	u32 room, count;
	struct ht_region list[];
};

static struct ht_regions *with_room(struct ht_thread *t)
{
	struct ht_regions *old = t->regions, *r;
	u64 size = old ? 2 * old->size : 4096;
	if (old && old->count < old->room)
		return old;
	r = ht_map(size);
	if (!r)
		return 0;
	if (old)
		__builtin_memcpy(r, old, old->size);
	r->size = size;
	r->room = (u32)((size - sizeof(*r)) / sizeof(r->list[0]));
	t->regions = r;
	if (old)
		ht_unmap(old, old->size);
	return r;
}

void ht_region_enter(const struct ht_region *region)
{
	struct ht_thread *t = ht_thread_mine();
	struct ht_regions *r = t ? with_room(t) : 0;
	if (!r)
		return; // only a child that is forked within this region misses it
	r->list[r->count++] = (struct ht_region){0};
	r->list[r->count - 1] = *region;
}

void ht_region_leave(u32 name)
{
	struct ht_thread *t = ht_thread_mine();
	struct ht_regions *r = t ? t->regions : 0;
	for (u32 i = r ? r->count : 0; i-- > 0;) {
		if (r->list[i].name != name)
			continue;
		r->count = i;
		return;
	}
}

void ht_regions_leave(struct ht_regions *regions)
{
	regions->count = 0;
}

void ht_regions_after_fork(void (*enter)(const struct ht_region *region))
{
	struct ht_regions *r = ht_local.regions;
	struct ht_thread *t;
	ht_local.regions = 0;
	for (u32 i = 0; r && i < r->count; i++)
		enter(&r->list[i]);
	t = r ? ht_thread_mine() : 0;
	if (t)
		t->regions = r;
}
