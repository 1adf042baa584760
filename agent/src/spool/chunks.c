// SPDX-License-Identifier: Apache-2.0
//
// chunks.c: allocates and frees chunks and streams, and decides what happens when no recorder empties them.
//
// Only ht_chunk_take waits: for a recorder, as long as that makes progress.

#include <linux/futex.h>
#include <sys/stat.h>
#include <time.h>

#include "spool/chunks.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/spool.h"

#define POOL_CHUNKS 64 // 4 MiB: nearly fits a second-level cache
#define WAIT_MS 200 // without a heartbeat for this long, the recorder counts as stuck
#define WAIT_FREE_MS 2000 // the same with a heartbeat, but no chunk freed

static u64 stuck_heartbeat = ~0ull; // the recorder's heartbeat when it was found stuck; ~0: never
static u64 starved_at = ~0ull; // chunk_freed when a thread waited in vain although the recorder was alive; ~0: never

// ---------------------------------------------------------------------------------------------------------------------
// Lists: each head has a counter in its upper half, so that a head that was popped and pushed again differs (ABA).

static void list_push(u64 *head, u32 *link, u32 index)
{
	u64 old = ht_load(head), new;
	do {
		ht_store(link, (u32)old);
		new = ((old >> 32) + 1) << 32 | index;
	} while (!__atomic_compare_exchange_n(head, &old, new, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void ht_chunk_give(u32 index)
{
	list_push(&ht_header->free_chunks, &ht_chunk_at(index)->next, index);
	__atomic_fetch_add(&ht_header->free_chunk_count, 1, __ATOMIC_RELAXED);
}

void ht_stream_give(u32 index)
{
	ht_store(&ht_streams[index].state, HT_STREAM_FREE);
	list_push(&ht_header->free_streams, &ht_streams[index].next_free, index);
}

static u32 pop_chunk(void)
{
	u64 old = ht_load_acquire(&ht_header->free_chunks), new;
	u32 index;
	do {
		index = (u32)old;
		if (index == HT_NONE || !ht_array_has(HT_SEG_CHUNKS, index))
			return HT_NONE;
		new = ((old >> 32) + 1) << 32 | ht_load(&ht_chunk_at(index)->next);
	} while (!__atomic_compare_exchange_n(&ht_header->free_chunks, &old, new, 1, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	__atomic_fetch_sub(&ht_header->free_chunk_count, 1, __ATOMIC_RELAXED);
	return index;
}

// A chunk begins with one page, and gets more as it is filled, so a thread that allocates little does not take 64 KiB.
// It keeps its pages when it is reused.
#define FIRST_PAGES 4096u

static u32 pages_of(const struct ht_chunk *c)
{
	u32 there = c->there;
	return there == HT_CHUNK_SIZE || there == HT_CHUNK_SIZE / 4 ? there : FIRST_PAGES;
}

u64 ht_chunk_limit(const struct ht_chunk *c)
{
	return (u64)c + pages_of(c) - HT_RECORD_MAX;
}

int ht_chunk_more(struct ht_chunk *c)
{
	u32 there = pages_of(c), more = 4 * there;
	if (there == HT_CHUNK_SIZE || ht_provide((u8 *)c + there, more - there) < 0)
		return -1;
	c->there = more;
	return 0;
}

// Returns a chunk that was never used, as long as there are fewer than `limit` plus *more. *more is read after the
// number of used chunks, again for every attempt, because other threads may have increased both. The chunk's first page
// is populated before the chunk is claimed, so that no chunk is claimed without memory. If several threads want the
// same chunk, each populates that page, and all but one try the next chunk.
static u32 claim_chunk(u32 limit, const u32 *more)
{
	u32 index = ht_load_acquire(&ht_header->next_chunk);
	do {
		if (index >= limit + (more ? ht_load_acquire(more) : 0) || !ht_array_has(HT_SEG_CHUNKS, index) ||
		    ht_provide((u8 *)ht_chunk_at(index), FIRST_PAGES) < 0)
			return HT_NONE;
	} while (!__atomic_compare_exchange_n(&ht_header->next_chunk, &index, index + 1, 1, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return index;
}

static u32 chunk_at_once(void)
{
	u32 index = pop_chunk();
	return index != HT_NONE ? index : claim_chunk(POOL_CHUNKS, &ht_header->next_stream);
}

static u32 claim_stream(void)
{
	u32 index = ht_load_acquire(&ht_header->next_stream);
	do {
		if (index == HT_NONE || !ht_array_has(HT_SEG_STREAMS, index))
			return HT_NONE;
	} while (!__atomic_compare_exchange_n(&ht_header->next_stream, &index, index + 1, 1, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return index;
}

u32 ht_stream_take(void)
{
	u64 old = ht_load_acquire(&ht_header->free_streams), new;
	u32 index;
	do {
		index = (u32)old;
		if (index == HT_NONE || !ht_array_has(HT_SEG_STREAMS, index)) {
			// There are more threads than ever before, and the pool has room for a chunk: many of them
			// would take much memory before one runs short.
			ht_wake_recorder();
			return claim_stream();
		}
		new = ((old >> 32) + 1) << 32 | ht_load(&ht_streams[index].next_free);
	} while (!__atomic_compare_exchange_n(&ht_header->free_streams, &old, new, 1, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return index;
}

// ---------------------------------------------------------------------------------------------------------------------
// Waiting for the recorder, and continuing without it

void ht_wake_recorder(void)
{
	if (ht_load(&ht_header->recorder_sleeps)) {
		ht_store(&ht_header->recorder_sleeps, 0);
		__atomic_fetch_add(&ht_header->recorder_wake, 1, __ATOMIC_RELEASE);
		ht_sys4(__NR_futex, &ht_header->recorder_wake, FUTEX_WAKE, 1, 0);
	}
}

static u32 wait_for_chunk(void)
{
	u64 beat = ht_load_acquire(&ht_header->heartbeat);
	u32 freed = ht_load_acquire(&ht_header->chunk_freed);
	if (beat == ht_load(&stuck_heartbeat) || freed == ht_load(&starved_at))
		return HT_NONE;
	ht_count(HT_C_WAITS);
	u64 begin = ht_now_ns(CLOCK_MONOTONIC), beat_at = begin, freed_at = begin;
	for (;;) {
		struct timespec nap = {0, 10000000};
		u32 index = chunk_at_once();
		if (index != HT_NONE)
			return index;
		ht_wake_recorder();
		__atomic_fetch_add(&ht_header->chunk_waiters, 1, __ATOMIC_SEQ_CST);
		long r = ht_sys4(__NR_futex, &ht_header->chunk_freed, FUTEX_WAIT, freed, &nap);
		__atomic_fetch_sub(&ht_header->chunk_waiters, 1, __ATOMIC_SEQ_CST);
		if (r == -1 /* EPERM */ || r == -38 /* ENOSYS */)
			return HT_NONE;
		u64 now = ht_now_ns(CLOCK_MONOTONIC), beat_now = ht_load_acquire(&ht_header->heartbeat);
		u32 freed_now = ht_load_acquire(&ht_header->chunk_freed);
		if (beat_now != beat)
			beat = beat_now, beat_at = now;
		if (freed_now != freed)
			freed = freed_now, freed_at = now;
		if (now - beat_at > WAIT_MS * 1000000ull) {
			ht_store(&stuck_heartbeat, beat);
			return HT_NONE;
		}
		// All chunks belong to threads that fill them slowly, and there is no memory for more.
		if (now - freed_at > WAIT_FREE_MS * 1000000ull) {
			ht_store(&starved_at, freed);
			return HT_NONE;
		}
	}
}

u32 ht_chunk_take(void)
{
	u32 index = chunk_at_once();
	if (ht_load(&ht_header->recorder_state) == HT_RECORDER_NONE)
		return index;
	if (index == HT_NONE)
		return wait_for_chunk();
	// Wake it while half the pool is still free, so that no thread has to wait.
	if (ht_load(&ht_header->free_chunk_count) < POOL_CHUNKS / 2 &&
	    ht_load(&ht_header->next_chunk) - ht_load(&ht_header->next_stream) >= POOL_CHUNKS / 2)
		ht_wake_recorder();
	return index;
}

int ht_chunk_spill(struct ht_chunk *chunk)
{
	u64 size = (chunk->fill + 7u) & ~7u, done = 0;
	u64 before = __atomic_fetch_add(&ht_header->spill_size, size, __ATOMIC_RELAXED);
	long fd = -1;
	struct stat st;
	int fits = before + size <= ht_load(&ht_header->spill_limit);
	if (fits)
		fd = ht_spill_open();
	if (fd >= 0) {
		if (ht_sys2(__NR_fstat, fd, &st) == 0 && ht_size_allowed((u64)st.st_size + size))
			while (done < size) {
				long n = ht_sys3(__NR_write, fd, (u8 *)chunk + done, size - done);
				if (n == -4 /* EINTR */)
					continue;
				if (n <= 0)
					break;
				done += (u64)n;
			}
		ht_sys1(__NR_close, fd);
	}
	// For readers that must derive the counter's frequency from this file alone.
	struct timespec now;
	if (ht_sys2(__NR_clock_gettime, CLOCK_MONOTONIC, &now) == 0) {
		ht_store(&ht_header->tsc1, ht_clock());
		ht_store(&ht_header->mono1, (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec);
	}
	if (done == size) {
		ht_count(HT_C_SPILLED);
		return 0;
	}
	__atomic_fetch_sub(&ht_header->spill_size, size, __ATOMIC_RELAXED);
	return fits && fd < 0 ? HT_UNREACHABLE : -1;
}

u32 ht_chunk_add(void)
{
	u64 limit = ht_load(&ht_header->spill_limit) / HT_CHUNK_SIZE;
	return claim_chunk(limit < HT_NONE ? (u32)limit : HT_NONE, 0);
}
