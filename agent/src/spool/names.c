// SPDX-License-Identifier: Apache-2.0
//
// names.c: the log of names (marks, regions, threads, ranges), and the index that finds known ones.
//
// The index is private to the process: a table of buckets, each a list of entries of the log, the newest first. A
// thread that loses a race, or a forked child, may write a text a second time; readers expect that.

#include "spool/names.h"
#include "base/memory.h"
#include "spool/arrays.h"
#include "spool/sum.h"

#define BUCKETS 16384
// the entry at a place in a list; 0: the list's end
#define ENTRY(place) ((struct ht_name *)(ht_name_log + ((u64)(place)-1) * 8))

static u32 *buckets;

static u32 *index_of(void)
{
	u32 *b = ht_load_acquire(&buckets), *none = 0;
	if (b)
		return b;
	b = ht_map(BUCKETS * sizeof(*b));
	if (b && !__atomic_compare_exchange_n(&buckets, &none, b, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		ht_unmap(b, BUCKETS * sizeof(*b));
		b = none;
	}
	return b;
}

// UTF-8 is cut at the beginning of a character.
static u32 measured(const char *text, u64 *hash)
{
	u64 h = 14695981039346656037ull;
	u32 n = 0;
	while (n < HT_NAME_MAX && text[n])
		n++;
	while (n && text[n] && (text[n] & 0xc0) == 0x80)
		n--;
	for (u32 i = 0; i < n; i++)
		h = (h ^ (u8)text[i]) * 0x100000001b3ull;
	*hash = h;
	return n;
}

static u32 write_entry(const char *text, u32 size, u32 next)
{
	u64 length = (sizeof(struct ht_name) + size + 7) & ~7ull;
	// Check before adding, so that the counter of a full log does not grow for ever.
	if (!ht_array_has(HT_SEG_NAMES, ht_load(&ht_header->name_bytes) + length - 1))
		return 0;
	u64 at = __atomic_fetch_add(&ht_header->name_bytes, length, __ATOMIC_RELAXED);
	if (!ht_array_has(HT_SEG_NAMES, at + length - 1))
		return 0;
	struct ht_name *name = (struct ht_name *)(ht_name_log + at);
	name->id = 1 + __atomic_fetch_add(&ht_header->next_name, 1, __ATOMIC_RELAXED);
	name->size = size;
	name->next = next;
	__builtin_memcpy(name + 1, text, size);
	name->sum = ht_sum_name(name, length);
	ht_store_release(&name->length, (u32)length);
	return (u32)(at / 8 + 1);
}

u32 ht_name_id(const char *text)
{
	u32 *b = index_of(), place, size, first;
	u64 hash;
	if (!b)
		return 0;
	size = measured(text ? text : "", &hash);
	b += (hash ^ hash >> 32) % BUCKETS;
	first = ht_load_acquire(b);
	for (place = first; place; place = ENTRY(place)->next)
		if (ENTRY(place)->size == size && __builtin_memcmp(ENTRY(place) + 1, text ? text : "", size) == 0)
			return ENTRY(place)->id;
	place = write_entry(text ? text : "", size, first);
	if (!place) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	__atomic_compare_exchange_n(b, &first, place, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return ENTRY(place)->id;
}
