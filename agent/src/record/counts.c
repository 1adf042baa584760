// SPDX-License-Identifier: Apache-2.0
//
// counts.c: counts what a thread does instead of recording it.
//
// Every thread counts in a place of its own, whose number is in its stream. When the thread has ended, its counts stay
// there. Once PLACES places are used, the next thread gets the place of one that has ended, whose counts are added to
// place 0. A place takes 32 KiB of new pages, which is more than everything else that a short thread costs.

#include "spool/arrays.h"
#include "record/record.h"
#include "record/thread.h"

#define PLACES 256

void ht_counts_enter(struct ht_thread *t)
{
	struct ht_counts *c = t->counts;
	struct ht_stream *s = t->stream;
	c->uid = s->uid;
	c->proc = s->proc;
	c->tid = s->tid;
	__builtin_memcpy(c->name, s->name, sizeof(c->name));
	ht_store_release(&s->counts, t->counts_place + 1);
}

static HT_NOINLINE struct ht_counts *find_place(struct ht_thread *t)
{
	u32 index = ht_load(&ht_header->next_counts);
	if (t == &ht_no_thread)
		return 0;
	do {
		if (!ht_array_has(HT_SEG_COUNTS, index))
			return 0;
	} while (!__atomic_compare_exchange_n(&ht_header->next_counts, &index, index + 1, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	t->counts = &ht_count_places[index];
	t->counts_place = index;
	ht_counts_enter(t);
	return t->counts;
}

HT_INLINE struct ht_counts *place_of(struct ht_thread *t)
{
	return ht_likely(t->counts != 0) ? t->counts : find_place(t);
}

struct ht_counts_row *ht_counts_row(struct ht_thread *t, u64 kind)
{
	struct ht_counts *c = place_of(t);
	return c ? &c->rows[kind & 64 ? HT_K_STACKED | (kind & 31) : kind & 31] : 0;
}

void *ht_count_allocation(struct ht_thread *t, u64 kind, void *p, u64 size)
{
	struct ht_counts *c = place_of(t);
	if (ht_unlikely(!c))
		return p;
	if (ht_unlikely(!p && size))
		c->rows[kind & 31].failed++;
	else
		ht_count_block(c, kind, size, p ? ht_usable(p) : 0);
	return p;
}

void *ht_count_deallocation(struct ht_thread *t, u64 kind, void *p)
{
	struct ht_counts *c = place_of(t);
	if (ht_likely(c != 0))
		ht_count_freed(c, kind, ht_usable(p));
	return p;
}

// A row consists of numbers only: first those of 64 bits, then those of 32.
static void add_row(struct ht_counts_row *sum, struct ht_counts_row *row)
{
	u64 *to = &sum->calls, *from = &row->calls;
	u32 *to_class = sum->sizes, *from_class = row->sizes;
	for (u32 i = 0; i < 6; i++)
		if (from[i])
			__atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
	for (u32 i = 0; i < HT_SIZE_CLASSES + HT_TIME_CLASSES; i++)
		if (from_class[i])
			__atomic_fetch_add(&to_class[i], from_class[i], __ATOMIC_RELAXED);
	__builtin_memset(row, 0, sizeof(*row));
}

void ht_counts_leave(struct ht_thread *t)
{
	struct ht_counts *c = t->counts;
	if (!c)
		return;
	if (ht_load(&ht_header->next_counts) < PLACES) {
		t->counts = 0;
		return;
	}
	for (u32 i = 0; i < sizeof(c->rows) / sizeof(c->rows[0]); i++) {
		struct ht_counts_row *row = &c->rows[i];
		if (row->calls | row->failed | row->timed)
			add_row(&ht_count_places[0].rows[i], row);
	}
}
