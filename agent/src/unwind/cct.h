// SPDX-License-Identifier: Apache-2.0
//
// cct.h: the calling-context tree. The nodes are in the spool; the index is private to the process. No locks: nothing
// ever waits for a thread that is publishing a node, because that may be interrupted, killed, or missing after a fork.
#ifndef HT_CCT_H
#define HT_CCT_H

#include "base/base.h"

#define HT_CCT_ROOT 0x243f6a8885a308d3ull // the hash of the empty stack

// Returns the path hash of a call to pc (an id, perhaps with HT_NODE_TRUNCATED) from the stack with this hash. A stack
// whose hash is 0 (one in 2^64) gets no node. For a given pc it is a bijection. Stacks that differ only in their last
// two frames never collide, because multiples of the golden ratio by factors below 2^24 are far enough apart.
HT_INLINE u64 ht_cct_hash(u64 parent, u32 pc)
{
	u64 h = (parent ^ pc) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

struct ht_cct_entry {
	u64 hash; // 0: free
	u32 node; // 0: not published
	u32 reserved;
};

// Like ht_rule_table.
extern u64 ht_cct_table;
#define HT_CCT_ENTRIES(word) ((struct ht_cct_entry *)((word)&0xfffffffff000ull))
#define HT_CCT_BITS(word) ((u32)(word)&63)

// Entries come in groups of four that share a cache line; a full group continues in the next one. A group is searched
// without branches, because the position of an entry in it cannot be predicted.
#define HT_CCT_GROUP 4

HT_INLINE u64 ht_cct_slot(u64 hash, u32 bits)
{
	return hash >> (64 - bits) & ~(u64)(HT_CCT_GROUP - 1);
}

// Returns the node with this path hash, or 0.
HT_INLINE u32 ht_cct_find(u64 hash)
{
	u64 word = ht_load_acquire(&ht_cct_table);
	u32 bits = HT_CCT_BITS(word);
	const struct ht_cct_entry *entries = HT_CCT_ENTRIES(word);
	for (u64 i = ht_cct_slot(hash, bits);; i = (i + HT_CCT_GROUP) & ((1ull << bits) - 1)) {
		const struct ht_cct_entry *e = &entries[i];
		u32 n0 = ht_load(&e[0].node), n1 = ht_load(&e[1].node), n2 = ht_load(&e[2].node),
		    n3 = ht_load(&e[3].node);
		u64 last = ht_load(&e[3].hash);
		u32 node = ht_load(&e[0].hash) == hash ? n0 : 0;
		node = ht_load(&e[1].hash) == hash ? n1 : node;
		node = ht_load(&e[2].hash) == hash ? n2 : node;
		node = last == hash ? n3 : node;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (ht_likely(node != 0))
			return ht_likely(ht_load(&ht_cct_table) == word) ? node : 0;
		if (!last || last == hash)
			return 0;
	}
}

// Makes the node. Returns its id, or 0 (counted).
HT_COLD u32 ht_cct_insert(u64 hash, u32 parent, u32 pc);
void ht_cct_after_fork(void);

// Called once, before any event. Returns 0, or -1: the agent must step aside.
int ht_cct_init(void);

#endif
