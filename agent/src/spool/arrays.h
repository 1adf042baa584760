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
// The arrays. Element i is mapped if i < ht_mapped[type]. Read that before the array's address: an array without room
// to grow gets a new address, and the old one stays valid for the elements that it had.
extern struct ht_proc *ht_procs;
extern struct ht_stream *ht_streams;
extern u8 *ht_chunks; // chunk i is at ht_chunks + i * HT_CHUNK_SIZE
extern struct ht_pc *ht_pcs;
extern struct ht_node *ht_nodes;
extern u8 *ht_module_log, *ht_name_log;
extern struct ht_counts *ht_counts;
extern u64
	ht_mapped[HT_SEG_TYPES]; // number of elements (bytes for META, MODULES, NAMES) that are mapped in this process

// Makes the elements up to and including `index` accessible, whether another process has added them or not. Returns 0,
// or -1 (no memory, no file access, limits); then the caller must do without. Reentrant; never waits.
HT_COLD int ht_array_reach(int type, u64 index);

// Whether element `index` may be accessed.
HT_INLINE int ht_array_has(int type, u64 index)
{
	return ht_likely(index < ht_load_acquire(&ht_mapped[type])) || ht_array_reach(type, index) == 0;
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
