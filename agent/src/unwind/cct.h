// SPDX-License-Identifier: Apache-2.0
//
// cct.h: the calling-context tree. Nodes lie in the spool; how to find them is private to the process. No locks; a
// publisher that was interrupted, or killed, or forked away from, is never waited for.
#ifndef HT_CCT_H
#define HT_CCT_H

#include "base/base.h"

#define HT_CCT_ROOT 0x243f6a8885a308d3ull // the hash of the empty stack

// The path hash of a call to pc (id, perhaps with HT_NODE_TRUNCATED) from the stack with this hash. Where that is 0,
// which takes 2^64 stacks, the stack gets no node. For one pc it is a bijection; two stacks that differ in their last
// two frames alone never have the same: multiples of the golden ratio by less than 2^24 lie further apart than that.
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

// As ht_rule_table.
extern u64 ht_cct_table;
#define HT_CCT_ENTRIES(word) ((struct ht_cct_entry *)((word)&0xfffffffff000ull))
#define HT_CCT_BITS(word) ((u32)(word)&63)

// Entries come in groups of four that share a cache line; a full group goes on in the next one. A group is searched
// without branches, since where in it an entry lies cannot be predicted.
#define HT_CCT_GROUP 4

HT_INLINE u64 ht_cct_slot(u64 hash, u32 bits)
{
	return hash >> (64 - bits) & ~(u64)(HT_CCT_GROUP - 1);
}

// The node with this path hash, or 0.
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

// Makes the node and returns its id, or 0 (counted).
HT_COLD u32 ht_cct_insert(u64 hash, u32 parent, u32 pc);
void ht_cct_after_fork(void);

// Called once, before any event. 0, or -1: the agent must step aside.
int ht_cct_init(void);

#endif
