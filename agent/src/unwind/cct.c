// SPDX-License-Identifier: Apache-2.0
//
// cct.c: the index of the calling-context tree, open addressing by path hash, 16 bytes an entry.
//
// An entry is claimed by its hash and then given its node; a node is complete before its id appears anywhere. A thread
// that finds a claimed entry without a node makes a node of its own and tries to enter that.
//
// The index grows by a copy twice the size, built from the nodes themselves. A node that is entered into the old index
// meanwhile may be missing in the new one: the next event with that stack makes another node, and readers merge nodes
// with the same parent and pc. The old index's memory is freed while other threads may still search it. They find
// nothing there, or an entry of a late insertion, which must not be used. So ht_cct_table is checked after every
// search.

#include "unwind/cct.h"
#include "base/memory.h"
#include "base/sys.h"
#include "spool/arrays.h"

#define FIRST_BITS 10 // four pages: most processes are short

u64 ht_cct_table;
static u32 used; // approximate number of entries in the current table
static u32 growing;

static u64 size_of(u32 bits)
{
	return sizeof(struct ht_cct_entry) << bits;
}

int ht_cct_init(void)
{
	struct ht_cct_entry *e = ht_map_filled(size_of(FIRST_BITS));
	if (!e)
		return -1;
	ht_store_release(&ht_cct_table, (u64)e | FIRST_BITS);
	return 0;
}

void ht_cct_after_fork(void)
{
	ht_store(&growing, 0);
}

// Enters a node into a table that is not published yet.
static void place(struct ht_cct_entry *e, u32 bits, u64 hash, u32 node)
{
	u64 i = ht_cct_slot(hash, bits);
	while (e[i].hash && e[i].hash != hash)
		i = (i + 1) & ((1ull << bits) - 1);
	if (!e[i].hash) {
		e[i].hash = hash;
		e[i].node = node;
	}
}

static void grow(u64 word)
{
	u32 before = ht_load(&used), entered = 0;
	u32 nodes = ht_load(&ht_header->next_node);
	u32 bits = HT_CCT_BITS(word) + 1;
	struct ht_cct_entry *e;

	while ((u64)nodes * 2 > 1ull << bits) // another process with this spool may have made many
		bits++;
	e = ht_map_filled(size_of(bits));
	if (!e)
		return;
	for (u32 i = 1; i < nodes; i++) {
		if (!ht_array_has(HT_SEG_NODES, i))
			break;
		// Copies published nodes only, not those that other threads are making.
		if (ht_load_acquire(&ht_nodes[i].pc) && ht_nodes[i].hash) {
			place(e, bits, ht_nodes[i].hash, i);
			entered++;
		}
	}
	u64 next = (u64)e | bits | ((word >> 48) + 1) << 48;
	if (!__atomic_compare_exchange_n(&ht_cct_table, &word, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		ht_unmap(e, size_of(bits));
		return;
	}
	// Claims by other threads meanwhile are counted in either table: better too many than too few.
	__atomic_fetch_add(&used, entered - before, __ATOMIC_RELAXED);
	ht_sys3(__NR_madvise, HT_CCT_ENTRIES(word), size_of(HT_CCT_BITS(word)), 4 /* MADV_DONTNEED */);
}

static u64 room(u64 word)
{
	u64 size = 1ull << HT_CCT_BITS(word), n = ht_load(&used);
	return n < size ? size - n : 0;
}

// Grows the table when it is three quarters full. While one thread grows it, others continue with the old one, and grow
// it themselves only when that is full: the first thread may be asleep, dead, or the one that we interrupted.
static void make_room(void)
{
	u64 word = ht_load_acquire(&ht_cct_table), size = 1ull << HT_CCT_BITS(word);
	if (room(word) > size / 4)
		return;
	if (__atomic_exchange_n(&growing, 1, __ATOMIC_ACQUIRE) && room(word) > size / 16)
		return;
	if (word == ht_load_acquire(&ht_cct_table))
		grow(word);
	ht_store_release(&growing, 0);
}

static u32 make_node(u64 hash, u32 parent, u32 pc)
{
	// Check before adding, so that the counter of a full table does not grow for ever.
	u32 id = ht_load(&ht_header->next_node);
	if (id >= 0xfffffff0u || !ht_array_has(HT_SEG_NODES, id))
		return 0;
	do
		id = __atomic_fetch_add(&ht_header->next_node, 1, __ATOMIC_RELAXED);
	while (id == 0);
	if (!ht_array_has(HT_SEG_NODES, id))
		return 0;
	ht_nodes[id].hash = hash;
	ht_nodes[id].parent = parent;
	ht_store_release(&ht_nodes[id].pc, pc);
	return id;
}

u32 ht_cct_insert(u64 hash, u32 parent, u32 pc)
{
	make_room();
	u64 word = ht_load_acquire(&ht_cct_table);
	struct ht_cct_entry *entries = HT_CCT_ENTRIES(word);
	u32 bits = HT_CCT_BITS(word), node = 0;

	// The table could not grow (one free entry must always remain), or the hash is 0, which marks free entries.
	if (room(word) <= 1ull << (bits > 8 ? bits - 8 : 0) || !hash) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	for (u64 i = ht_cct_slot(hash, bits);; i = (i + 1) & ((1ull << bits) - 1)) {
		struct ht_cct_entry *e = &entries[i];
		u64 h = ht_load_acquire(&e->hash);
		if (!h) {
			// Make the node first: between claiming the entry and filling it, as little as possible may
			// interrupt us.
			if (!node && !(node = make_node(hash, parent, pc)))
				break;
			if (__atomic_compare_exchange_n(&e->hash, &h, hash, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
				h = hash;
			}
		}
		if (h != hash)
			continue;
		u32 there = ht_load_acquire(&e->node);
		if (there && ht_load(&ht_cct_table) == word)
			return there;
		if (!node && !(node = make_node(hash, parent, pc)))
			break;
		there = 0;
		if (__atomic_compare_exchange_n(&e->node, &there, node, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    ht_load(&ht_cct_table) != word)
			return node;
		return there;
	}
	ht_count(HT_C_TABLE_FULL);
	return 0;
}
