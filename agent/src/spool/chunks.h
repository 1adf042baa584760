// SPDX-License-Identifier: Apache-2.0
//
// chunks.h: chunks and streams, which threads take and give back.
#ifndef HT_CHUNKS_H
#define HT_CHUNKS_H

#include "spool/arrays.h"

#pragma GCC visibility push(hidden)

// A chunk nobody uses, from the free list or by growing the pool; else waits for a recorder that makes progress;
// HT_NONE when there is none.
HT_COLD u32 ht_chunk_take(void);
HT_COLD void ht_wake_recorder(void); // if it sleeps
// Gives a chunk back to the free list.
void ht_chunk_give(u32 index);
// A chunk may have memory for its first part only. Where the last record must begin that fits into it; and more of it:
// 0, or -1 if there is no more, or no memory.
u64 ht_chunk_limit(const struct ht_chunk *chunk);
HT_COLD int ht_chunk_more(struct ht_chunk *chunk);
// A stream slot, from the free list or a new one; HT_NONE if there is none.
u32 ht_stream_take(void);
void ht_stream_give(u32 index);
// Appends a chunk, `fill` bytes of it, to the spill file. 0; -1 when there is no room for it; HT_UNREACHABLE when the
// process cannot open the file.
#define HT_UNREACHABLE (-2)
HT_COLD int ht_chunk_spill(struct ht_chunk *chunk);
// A chunk more than the pool has, so that a full one can stay in the spool; HT_NONE if there is no room.
HT_COLD u32 ht_chunk_add(void);

HT_INLINE struct ht_chunk *ht_chunk_at(u32 index)
{
	return (struct ht_chunk *)(ht_chunks + (u64)index * HT_CHUNK_SIZE);
}

#pragma GCC visibility pop

#endif
