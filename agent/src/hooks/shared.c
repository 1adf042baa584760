// SPDX-License-Identifier: Apache-2.0
//
// shared.c: implements shared.h: a list of blocks that are added at its head and never removed.

#include "hooks/shared.h"
#include "base/environ.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"

#define NAME_ROOM 64

struct block {
	struct block *next;
	size_t size;
	char name[NAME_ROOM];
	u8 memory[] __attribute__((aligned(64)));
};

static struct block *blocks;

// Searches from `b` on, up to `end`.
static struct block *find(struct block *b, const struct block *end, const char *name, size_t size)
{
	for (; b != end; b = b->next)
		if (b->size == size && ht_streq(b->name, name))
			return b;
	return 0;
}

void *ht_shared(const char *name, size_t size)
{
	struct block *first = ht_load_acquire(&blocks), *b, *seen = 0;
	if (!ht_init() || !name || ht_strlen(name) >= NAME_ROOM || size == 0 || size > 1ull << 40)
		return 0;
	if ((b = find(first, 0, name, size)))
		return b->memory;
	struct block *new = ht_map(sizeof(*new) + size);
	if (!new)
		return 0;
	new->size = size;
	ht_append(new->name, NAME_ROOM, name);
	do { // another thread may be adding the same name
		if ((b = find(first, seen, name, size))) {
			ht_unmap(new, sizeof(*new) + size);
			return b->memory;
		}
		new->next = seen = first;
	} while (!__atomic_compare_exchange_n(&blocks, &first, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return new->memory;
}

uint64_t ht_thread_number(void)
{
	static u64 numbers;
	if (!ht_local.number)
		ht_local.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	return ht_local.number;
}
