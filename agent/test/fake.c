// SPDX-License-Identifier: Apache-2.0
//
// fake.c: replaces the rest of the agent, as far as the unwinder needs it: arrays in plain memory instead of a spool.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "fake.h"
#include "../src/unwind/modules.h"
#include "../src/unwind/shadow.h"
#include "../src/base/sys.h"

static struct ht_header header = {.next_module = 1, .next_pc = 1, .next_node = 1};
struct ht_state ht_state[1] = {{.generation = 1}};
struct ht_header *ht_header = &header;
struct ht_array ht_arrays[HT_SEG_TYPES];
u32 ht_process;

#ifdef OLD_LIBC
int (*ht_find_object)(void *, void *);
#else
int _dl_find_object(void *, void *) __attribute__((weak));
int (*ht_find_object)(void *, void *) = _dl_find_object;
#endif

int ht_array_reach(int type, u64 index)
{
	(void)type, (void)index;
	return -1;
}

void *ht_map(u64 size)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? 0 : p;
}

void *ht_environ_room(u64 size)
{
	(void)size;
	return 0;
}

void *ht_map_filled(u64 size)
{
	return ht_map(size);
}

void ht_unmap(void *p, u64 size)
{
	munmap(p, size);
}

void *ht_remap(void *p, u64 old_size, u64 new_size)
{
	void *q = mremap(p, old_size, new_size, MREMAP_MAYMOVE);
	return q == MAP_FAILED ? 0 : q;
}

u64 ht_auxv(u64 type)
{
	return getauxval(type);
}

u64 ht_strlen(const char *s)
{
	return strlen(s);
}

// Nothing is forbidden.
u32 ht_clock_is_doubtful;
int ht_ask_clock(void)
{
	return 1;
}

u32 ht_filtered;
long ht_call_filtered(long n, long a, long b, long c, long d, long e, long f)
{
	return ht_syscall(n, a, b, c, d, e, f);
}

u32 ht_enter_exit;
u32 ht_shadow_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	(void)memo, (void)pc, (void)sp, (void)fp;
	return 0;
}

void ht_fast_hooks_watch_loader(void)
{
}

void ht_generation_raise(void)
{
	ht_state->generation++;
}

static void map(int type, u32 elements, u64 size)
{
	ht_arrays[type] = (struct ht_array){ht_map(elements * size), elements, 0};
}

void fake_start(void)
{
	map(HT_SEG_PCS, 1 << 22, sizeof(struct ht_pc));
	map(HT_SEG_NODES, 1 << 26, sizeof(struct ht_node));
	map(HT_SEG_MODULES, 1 << 26, 1);
	if (ht_rules_init() < 0 || ht_cct_init() < 0 || ht_modules_init() < 0)
		abort();
}

u32 fake_path(u32 node, u64 *pcs, u32 most, int *truncated)
{
	u32 n = 0;
	*truncated = 0;
	for (; node && n < most; node = ht_nodes[node].parent) {
		u32 pc = ht_nodes[node].pc;
		*truncated |= (pc & HT_NODE_TRUNCATED) != 0;
		pcs[n++] = ht_pcs[pc & ~HT_NODE_TRUNCATED].pc & ~HT_PC_INTERRUPTED;
	}
	return n;
}
