// SPDX-License-Identifier: Apache-2.0
//
// chunks.h: allocates and frees chunks and streams for threads.
#ifndef HT_CHUNKS_H
#define HT_CHUNKS_H

#include "spool/arrays.h"

#pragma GCC visibility push(hidden)

// Returns an unused chunk, from the free list or by growing the pool. Otherwise waits for a recorder that makes
// progress. HT_NONE if there is none.
HT_COLD u32 ht_chunk_take(void);
HT_COLD void ht_wake_recorder(void); // wakes it if it sleeps
// Returns a chunk to the free list.
void ht_chunk_give(u32 index);
// A chunk may have memory for its first part only. ht_chunk_limit returns where the last record that fits into that
// part must begin. ht_chunk_more extends the part: 0, or -1 if the chunk is complete or there is no memory.
u64 ht_chunk_limit(const struct ht_chunk *chunk);
HT_COLD int ht_chunk_more(struct ht_chunk *chunk);
// Returns a stream slot, from the free list or a new one; HT_NONE if there is none.
u32 ht_stream_take(void);
void ht_stream_give(u32 index);
// Appends `fill` bytes of a chunk to the spill file. Returns 0; -1 if there is no room for it; HT_UNREACHABLE if the
// process cannot open the file.
#define HT_UNREACHABLE (-2)
HT_COLD int ht_chunk_spill(struct ht_chunk *chunk);
// Returns a chunk beyond the pool's size, so that a full one can stay in the spool; HT_NONE if there is no room.
HT_COLD u32 ht_chunk_add(void);

HT_INLINE struct ht_chunk *ht_chunk_at(u32 index)
{
	return (struct ht_chunk *)(ht_chunks + (u64)index * HT_CHUNK_SIZE);
}

#pragma GCC visibility pop

#endif
