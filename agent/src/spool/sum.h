// SPDX-License-Identifier: Apache-2.0
//
// sum.h: checksums of complete parts of the spool, so that damage to a spool whose writer is dead is noticed. Each is
// computed once, outside of events' fast path. internal/wire/sum.go is the reader's side.
#ifndef HT_SUM_H
#define HT_SUM_H

#include "base/base.h"
#include "spool/arrays.h"

// The sum of `size` bytes, a multiple of 8. Every change of a single word changes it.
u64 ht_sum(const void *p, u64 size, u64 seed);
HT_INLINE u64 ht_sum_mix(u64 h, u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

// Returns the ht_chunk.seal of a chunk of which `fill` bytes are used.
u64 ht_sum_chunk(const struct ht_chunk *chunk, u32 fill);
u64 ht_sum_stream(const struct ht_stream *stream);
u64 ht_sum_proc(const struct ht_proc *proc);
u32 ht_sum_pc(u32 id, u64 pc, u32 module);
u64 ht_sum_module(const struct ht_module *module, u64 size);
u32 ht_sum_name(const struct ht_name *name, u64 size);
u64 ht_sum_header(const struct ht_header *header);

#endif
