// SPDX-License-Identifier: Apache-2.0
//
// told.h: what a deallocation is told of the block besides its address: a size, an alignment.
//
// The size's lowest byte lies in the record's slack, which deallocations have no other use for; so it costs nothing. It says
// all if the size is near the block's. Whether it is, the allocator's own word tells; if it is not, and with every
// alignment, the deallocation goes the long way, and the whole comes before its record.
#ifndef HT_TOLD_H
#define HT_TOLD_H

#include "agent.h"

// What the deallocation of `block` that is about to be recorded was told. Whoever records another block's (a signal handler)
// passes it by.
struct ht_told {
	const void *block;
	u64 size, align;
	u32 has_size;
};
extern __thread struct ht_told ht_told __attribute__((tls_model("initial-exec")));

// A kind, and what of the size goes with it: what is shifted by HT_KIND_SHIFT may have more bits than a kind.
#define HT_KIND_SIZED(kind, size) ((kind) | ((size)&255) << (HT_SLACK_SHIFT - HT_KIND_SHIFT))

// A glibc block has at most so many bytes more than were asked for, unless it is aligned or a mapping of its own.
#define HT_NEAR 40

// Does the lowest byte of a size say all of it? The word before the block is read only where it is in the same page as the block:
// a program may have an allocator of its own.
HT_INLINE int ht_size_is_near(const void *p, u64 size)
{
	return ht_likely(ht_glibc && ((u64)p & 4095) >= 16) && (((const u64 *)p)[-1] & ~7ull) - 8 - size <= HT_NEAR;
}

HT_COLD int ht_tell(const void *p, u64 size, u64 align);

// The deallocation of p was told a size: 1 if that must be recorded in full, which is prepared then.
HT_INLINE int ht_tell_size(const void *p, u64 size)
{
	return ht_unlikely(!ht_size_is_near(p, size)) && ht_tell(p, size, 0);
}

// The deallocation of p was told an alignment: prepares that it is recorded, and returns 1.
HT_COLD int ht_tell_alignment(const void *p, u64 align);

// Puts what block p's deallocation was told before the record to come.
HT_COLD void ht_put_told(struct ht_thread *t);

#endif
