// SPDX-License-Identifier: Apache-2.0
//
// arrays.h: the mapped spool. Any thread, signal handler or forked child may reach and extend it at once, without
// locks.
#ifndef HT_ARRAYS_H
#define HT_ARRAYS_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// spool.c: the mapped spool. Null until it is usable.
extern struct ht_header *ht_header;
// Arrays; element i is mapped if i < ht_mapped[type], looked at before the array's address: an array that has no room
// to grow gets a new one, while the old one holds on for what it had.
extern struct ht_proc *ht_procs;
extern struct ht_stream *ht_streams;
extern u8 *ht_chunks; // chunk i is at ht_chunks + i * HT_CHUNK_SIZE
extern struct ht_pc *ht_pcs;
extern struct ht_node *ht_nodes;
extern u8 *ht_module_log, *ht_name_log;
extern struct ht_counts *ht_counts;
extern u64
	ht_mapped[HT_SEG_TYPES]; // elements (bytes for META, MODULES, NAMES) mapped in this process, from the first on

// Makes elements up to and including `index` of the array accessible, whether another process has added them or not. 0,
// or -1 (no memory, no file access, limits): the caller degrades. Reentrant, waits for nobody.
HT_COLD int ht_array_reach(int type, u64 index);

// True if element `index` may be touched.
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
