// SPDX-License-Identifier: Apache-2.0
//
// arrays.h: the mapped spool. Threads, signal handlers and forked children may access and extend it concurrently,
// without locks.
#ifndef HT_ARRAYS_H
#define HT_ARRAYS_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// spool.c: the spool's header. Null until the spool is usable.
extern struct ht_header *ht_header;
// One array. The words change together, because several threads may extend it at once.
struct ht_array {
	u8 *base;
	u32 mapped; // number of elements (bytes for META, MODULES, NAMES) that are mapped in this process
	u32 pages; // of 4 KiB, that are mapped already, see ht_spool_open_ahead; 0: none ahead of need
} __attribute__((aligned(16)));

// Element i is mapped if i < mapped. Read that before the base: an array without room to grow gets a new address, and
// the old one stays valid for the elements that it had.
extern struct ht_array ht_arrays[HT_SEG_TYPES];
#define ht_procs ((struct ht_proc *)ht_arrays[HT_SEG_PROCS].base)
#define ht_streams ((struct ht_stream *)ht_arrays[HT_SEG_STREAMS].base)
#define ht_chunks (ht_arrays[HT_SEG_CHUNKS].base) // chunk i is at ht_chunks + i * HT_CHUNK_SIZE
#define ht_pcs ((struct ht_pc *)ht_arrays[HT_SEG_PCS].base)
#define ht_nodes ((struct ht_node *)ht_arrays[HT_SEG_NODES].base)
#define ht_module_log (ht_arrays[HT_SEG_MODULES].base)
#define ht_name_log (ht_arrays[HT_SEG_NAMES].base)
#define ht_count_places ((struct ht_counts *)ht_arrays[HT_SEG_COUNTS].base)

// Makes the elements up to and including `index` accessible, whether another process has added them or not. Returns 0,
// or -1 (no memory, no file access, limits); then the caller must do without. Reentrant; never waits.
HT_COLD int ht_array_reach(int type, u64 index);

// Whether element `index` may be accessed.
HT_INLINE int ht_array_has(int type, u64 index)
{
	return ht_likely(index < ht_load_acquire(&ht_arrays[type].mapped)) || ht_array_reach(type, index) == 0;
}

HT_INLINE void ht_count_by(enum ht_counter c, u64 n)
{
	if (ht_header)
		__atomic_fetch_add(&ht_header->counters[c], n, __ATOMIC_RELAXED);
}
HT_INLINE void ht_count(enum ht_counter c)
{
	ht_count_by(c, 1);
}

#pragma GCC visibility pop

#endif
