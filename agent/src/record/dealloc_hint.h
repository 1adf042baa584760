// SPDX-License-Identifier: Apache-2.0
//
// dealloc_hint.h: what the caller of a deallocation says about the block besides its address: a size, an alignment.
//
// The size's lowest byte goes into the record's slack field, which deallocations do not use otherwise, so it costs
// nothing. It is enough if the size is near the block's, which the allocator's size word shows. Otherwise, and for
// every alignment, the deallocation takes the slow path, which writes the whole hint before the record.
#ifndef HT_DEALLOC_HINT_H
#define HT_DEALLOC_HINT_H

#include "base/base.h"
#include "record/real.h"
#include "record/thread.h"

// The hint for the deallocation of `block` that is about to be recorded. The deallocation of another block, in a signal
// handler, leaves it alone.
struct ht_dealloc_hint {
	const void *block;
	u64 size, align;
	u32 has_size;
};
extern __thread struct ht_dealloc_hint ht_dealloc_hint __attribute__((tls_model("initial-exec")));

// A kind combined with the low byte of a size: what is shifted by HT_KIND_SHIFT may have more bits than a kind.
#define HT_KIND_SIZED(kind, size) ((kind) | ((size)&255) << (HT_SLACK_SHIFT - HT_KIND_SHIFT))

// A glibc block has at most this many bytes more than requested, unless it is aligned or a mapping of its own.
#define HT_HINT_NEAR 40

// Whether the lowest byte of a size is enough to reconstruct it. The word before the block is read only if it is in the
// same page as the block, because a program may have an allocator of its own.
HT_INLINE int ht_size_is_near(const void *p, u64 size)
{
	return ht_likely(ht_glibc && ((u64)p & 4095) >= 16) &&
	       (((const u64 *)p)[-1] & ~7ull) - 8 - size <= HT_HINT_NEAR;
}

// Keeps size and alignment for the deallocation of p. Returns 1.
HT_COLD int ht_hint(const void *p, u64 size, u64 align);

// The same for a size. Returns 0 if its lowest byte is enough.
HT_INLINE int ht_hint_size(const void *p, u64 size)
{
	return ht_unlikely(!ht_size_is_near(p, size)) && ht_hint(p, size, 0);
}

// Keeps the alignment for the deallocation of p. Returns 1.
HT_COLD int ht_hint_alignment(const void *p, u64 align);

// Writes the hint, before its record.
HT_COLD void ht_put_hint(struct ht_thread *t);

#endif
