// SPDX-License-Identifier: Apache-2.0
//
// pools.c: records what the program reports of its own pools.
//
// A pool is a number and the pc id of its name. The program's handle contains both, so there is no table of pools that
// could fill up, and a pool made before a fork is valid after it. The recorder finds out which blocks are in a pool,
// and in which memory.
//
// Modes: an allocation in a pool is recorded, sampled, counted or left out as any other; its address gets a bit in the
// filter of sampled mode that distinguishes it from the block that it lies in. Operations on a whole pool are always
// recorded: they are rare, and may end blocks that were recorded in exact mode. The filter is not updated for blocks
// that end so. It then reports some deallocations as recorded that need not be; after some 100,000 such samples, all.

#include "record/pools.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "spool/names.h"
#include "unwind/cct.h"
#include "unwind/rules.h"
#include "record/mode.h"
#include "record/record.h"

#define POOL_BIT (1ull << 63) // in the filter

// ---------------------------------------------------------------------------------------------------------------------
// The frame that stands for a pool

#define FRAMES 16384 // entries of the cache; of two names with the same slot, the later one gets it

// Returns the pc id of a name, for all pools with that name.
static u32 frame_of(u32 name)
{
	static u64 *frames; // name id << 32 | pc id
	u64 *list = ht_load_acquire(&frames), *none = 0, found;
	if (!list) {
		list = ht_map(FRAMES * sizeof(*list));
		if (list && !__atomic_compare_exchange_n(&frames, &none, list, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			ht_unmap(list, FRAMES * sizeof(*list));
			list = none;
		}
	}
	found = list ? ht_load(&list[name % FRAMES]) : 0;
	if (found >> 32 == name)
		return (u32)found;
	u32 pc = ht_pc_add(HT_PC_POOL | name, 0);
	if (!pc)
		ht_count(HT_C_TABLE_FULL);
	else if (list)
		ht_store(&list[name % FRAMES], (u64)name << 32 | pc);
	return pc;
}

heaptap_pool_id ht_pool_create(const char *name)
{
	u32 id = ht_init() ? ht_name_id(name) : 0, frame = id ? frame_of(id) : 0;
	if (!frame)
		return 0;
	u64 number = 1 + __atomic_fetch_add(&ht_header->next_pool, 1, __ATOMIC_RELAXED);
	if (number >> 32) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	return number << 32 | frame;
}

int ht_pool_is(heaptap_pool_id pool)
{
	u32 frame = (u32)pool;
	return pool >> 32 && ht_init() && pool >> 32 <= ht_load(&ht_header->next_pool) && frame &&
	       frame < ht_load(&ht_header->next_pc) && ht_array_has(HT_SEG_PCS, frame) &&
	       ht_load_acquire(&ht_pcs[frame].pc) >> 62 == HT_PC_POOL >> 62;
}

// Returns the call stack of an allocation in a pool: the caller's, with the pool's frame as its leaf.
static u32 stack_in(struct ht_thread *t, heaptap_pool_id pool, int small, struct ht_caller c)
{
	u32 up = small ? ht_small_stack() : ht_capture(&t->memo, c.pc, c.sp, c.fp);
	u64 hash = ht_cct_hash(up ? ht_nodes[up].hash : HT_CCT_ROOT, (u32)pool);
	u32 node = ht_cct_find(hash);
	return node ? node : ht_cct_insert(hash, up, (u32)pool);
}

// ---------------------------------------------------------------------------------------------------------------------
// Records

HT_INLINE u64 modes(int is_allocation)
{
	return ht_has_slow_flags() ? ht_slow_modes(is_allocation) : 0;
}

// Whether some events are not recorded.
HT_INLINE int is_partial(u64 flags)
{
	return (flags & (HT_SLOW_SAMPLED | HT_SLOW_COUNT | HT_SLOW_OFF)) != 0;
}

HT_INLINE void *tagged(const void *p)
{
	return (void *)((u64)p | POOL_BIT);
}

// Writes an allocation of a pool. sample: the value of HT_X_SAMPLED, or 0.
static u64 *put_allocation(struct ht_thread *t, u64 *w, u64 kind, heaptap_pool_id pool, const void *p, u64 size,
			   u64 sample, struct ht_caller c)
{
	u32 stack = stack_in(t, pool, p && size < ht_header->stack_min, c);
	u64 low = size;
	if (sample)
		w = ht_put_extra(w, HT_X_SAMPLED, sample);
	w = ht_put_extra(w, HT_X_POOL, pool);
	if (size >= HT_SIZE_EXTRA) {
		low = HT_SIZE_EXTRA;
		w = ht_put_extra(w, HT_X_SIZE, size);
	}
	w[0] = ((u64)p & HT_ADDR_MASK) | kind << HT_KIND_SHIFT;
	w[1] = low | (u64)stack << 32;
	w[2] = ht_clock();
	return w + 3;
}

// Writes the end of a block or pool, with its call stack if that is wanted (--free-stacks).
static u64 *put_ending(struct ht_thread *t, u64 *w, u64 kind, heaptap_pool_id pool, const void *p, struct ht_caller c)
{
	w = ht_put_extra(w, HT_X_POOL, pool);
	u64 address = (u64)p & HT_ADDR_MASK;
	if (ht_state->free_stacks) {
		w[0] = address | (HT_K_STACKED | (kind & 31)) << HT_KIND_SHIFT;
		w[1] = (u64)ht_capture(&t->memo, c.pc, c.sp, c.fp) << 32;
		w[2] = ht_clock();
		return w + 3;
	}
	w[0] = address | kind << HT_KIND_SHIFT;
	w[1] = ht_clock();
	return w + 2;
}

static void count(u64 kind, const void *p, u64 size, struct ht_caller c)
{
	struct ht_thread *t = ht_thread_prepare(c);
	struct ht_counts_row *row = ht_counts_row(t, kind);
	if (!row)
		return;
	if (kind & 64)
		row->calls++;
	else if (!p && size)
		row->failed++;
	else
		ht_count_block(t->counts, kind, size, size);
}

// Whether this allocation is recorded.
static int is_sample(const void *p, u64 size)
{
	if (!p || !ht_sample_is_due(size) || !ht_sample_draw(size))
		return 0;
	ht_filter_add(tagged(p));
	return 1;
}

void ht_pool_alloc(heaptap_pool_id pool, const void *p, size_t size)
{
	struct ht_caller c = HT_CALLER();
	if (!ht_pool_is(pool))
		return;
	u64 flags = modes(1), sample = 0;
	if (flags & HT_SLOW_COUNT)
		count(HT_K_POOL_ALLOC, p, size, c);
	if (flags & (HT_SLOW_COUNT | HT_SLOW_OFF))
		return;
	if (flags & HT_SLOW_SAMPLED && p) {
		if (!is_sample(p, size))
			return;
		sample = ht_header->sample;
	}
	struct ht_thread *t = ht_begin(c);
	if (t)
		ht_end(t, t->stream, put_allocation(t, (u64 *)t->at, HT_K_POOL_ALLOC, pool, p, size, sample, c));
}

void ht_pool_free(heaptap_pool_id pool, const void *p)
{
	struct ht_caller c = HT_CALLER();
	if (!p || !ht_pool_is(pool))
		return;
	u64 flags = modes(0);
	if (flags & HT_SLOW_COUNT)
		count(HT_K_POOL_FREE, p, 0, c);
	if (is_partial(flags) && !ht_filter_take(tagged(p)))
		return;
	struct ht_thread *t = ht_begin(c);
	if (t)
		ht_end(t, t->stream, put_ending(t, (u64 *)t->at, HT_K_POOL_FREE, pool, p, c));
}

void ht_pool_move(heaptap_pool_id pool, const void *from, const void *to, size_t size)
{
	struct ht_caller c = HT_CALLER();
	if (!ht_pool_is(pool))
		return;
	int failed = !to && size;
	u64 sample = 0, flags = modes(0);
	int begun = from && (!is_partial(flags) || ht_filter_take(tagged(from)));
	flags = modes(1);
	if (flags & HT_SLOW_COUNT)
		count(HT_K_POOL_MOVE, to, size, c);
	if (begun && failed && is_partial(flags))
		ht_filter_add(tagged(from)); // it stays live
	int whole = !is_partial(flags) || (failed && (begun || flags & HT_SLOW_SAMPLED));
	if (flags & HT_SLOW_SAMPLED && is_sample(to, size)) {
		sample = ht_header->sample;
		whole = 1;
	}
	struct ht_thread *t = begun || whole ? ht_begin(c) : 0;
	if (!t)
		return;
	u64 *w = (u64 *)t->at;
	if (begun)
		w = put_ending(t, w, HT_K_POOL_MOVE_BEGIN, pool, from, c);
	// A result that is not recorded is written as 0: the old block was freed, and nothing is known of the new one.
	w = put_allocation(t, w, HT_K_POOL_MOVE, pool, whole ? to : 0, whole ? size : 0, sample, c);
	ht_end(t, t->stream, w);
}

void ht_pool_backing(heaptap_pool_id pool, const void *block, size_t size)
{
	struct ht_caller c = HT_CALLER();
	if (!block || !ht_pool_is(pool))
		return;
	if (is_partial(modes(0))) {
		int first = !ht_filter_is_used();
		ht_filter_take(block);
		ht_filter_add(block); // so that its end is recorded, whether the block itself was or not
		if (first)
			ht_mode_changed(); // count mode did not use the filter so far
	}
	struct ht_thread *t = ht_begin(c);
	if (!t)
		return;
	u64 *w = ht_put_extra((u64 *)t->at, HT_X_OLD_SIZE, size);
	ht_end(t, t->stream, put_ending(t, w, HT_K_POOL_BACKING, pool, block, c));
}

static void end_all(u64 kind, heaptap_pool_id pool, struct ht_caller c)
{
	struct ht_thread *t = ht_pool_is(pool) ? ht_begin(c) : 0;
	if (t)
		ht_end(t, t->stream, put_ending(t, (u64 *)t->at, kind, pool, 0, c));
}

void ht_pool_clear(heaptap_pool_id pool)
{
	end_all(HT_K_POOL_CLEAR, pool, HT_CALLER());
}

void ht_pool_destroy(heaptap_pool_id pool)
{
	end_all(HT_K_POOL_DESTROY, pool, HT_CALLER());
}
