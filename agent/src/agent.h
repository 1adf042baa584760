// SPDX-License-Identifier: Apache-2.0
//
// agent.h: what the agent's files share with each other.
//
// The agent runs inside malloc, in signal handlers, before main and after exit, in forked children and under every lock
// that the target may hold. So in all of these files: no stdio, no malloc, no libc function that may allocate, lock or
// set errno; raw system calls (sys.h); memory from mmap; at most 1 KiB of the target's stack. Nothing waits for another
// thread's publication, nothing aborts: trouble is counted in ht_header.counters and the target goes on.
#ifndef HT_AGENT_H
#define HT_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int64_t i64;
typedef int32_t i32;

#define ht_likely(x) __builtin_expect(!!(x), 1)
#define ht_unlikely(x) __builtin_expect(!!(x), 0)
#define HT_INLINE static inline __attribute__((always_inline))
#define HT_NOINLINE __attribute__((noinline))
#define HT_EXPORT __attribute__((visibility("default")))
#define HT_COLD __attribute__((noinline, cold))
// A compiler barrier: what is before it in the program stays before it for a signal handler of the same thread.
#define HT_FENCE() __asm__ volatile("" ::: "memory")

#define ht_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ht_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ht_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ht_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

// ---------------------------------------------------------------------------------------------------------------------
// unwind.c, and its memo: what a thread remembers of its last stack

struct ht_frame; // private to unwind.c
struct ht_check;

// One per stream, all zero at first; owned by unwind.c. It lives in private memory of the process.
struct ht_memo {
	struct ht_frame *frames; // root first
	struct ht_check *checks;
	u32 frame_capacity, check_capacity;
	u32 depth; // remembered frames; 0: nothing remembered. Set to 0 while the memo is being changed.
	u32 reserved;
	u64 generation; // ht_state.generation for which it holds
	u64 low, high; // the thread's own stack: [low, high) is readable while sp >= low
	struct {
		u64 low, high;
	} regions[4]; // foreign stacks seen last: coroutines, signal stacks
	u32 next_region;
	u32 reserved1;
	void *scratch; // for the CFI interpreter and the full-register walk
	u64 scratch_size;
};

// Returns the stack id of the call stack whose leaf is the call with return address pc, made by a caller whose stack
// pointer after the return is sp and whose frame pointer is fp; 0 if there is none (counted). fp is only used where call
// frame information says so. The caller has set ht_stream.busy; this is never entered twice for one memo.
u32 ht_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);

// Forgets what it remembers and gives its memory back to the system.
void ht_memo_free(struct ht_memo *memo);

// ---------------------------------------------------------------------------------------------------------------------
// rules.c, cfi.c, modules.c, cct.c: process-wide tables. Each ht_*_init is called once, before any event, with no other
// thread around as far as anybody knows; it returns 0, or -1 when the agent must step aside.

int ht_rules_init(void);
int ht_cct_init(void);
// Builds the table of loaded modules and writes them to the module log. May take the loader's lock.
int ht_modules_init(void);
// Called (outside of any walk, busy set) when an event's caller is the dynamic loader: looks for unloaded modules, logs
// them, drops their rules and raises ht_state.generation so that every memo is dropped too. Takes no lock.
void ht_modules_check(void);
// In a forked child, before its first event: module ids and tables stay valid, whatever the parent's other threads were
// doing at the fork.
void ht_tables_after_fork(void);

// Is pc inside the dynamic loader? Every event asks this of its caller.
extern u64 ht_loader_low, ht_loader_size;
HT_INLINE int ht_in_loader(u64 pc)
{
	return pc - ht_loader_low < ht_loader_size;
}

// ---------------------------------------------------------------------------------------------------------------------
// State of the process

struct ht_state {
	// In a page of its own that a fork wipes: 0 in a child that has not noticed yet. Never 0 otherwise.
	u64 generation;
};
// Points to that page from ht_init on; to a constant 0 before, so that every event takes the slow way.
extern struct ht_state *ht_state;

// spool.c: the mapped spool. Null until it is usable.
extern struct ht_header *ht_header;
// Arrays in reserved address space; element i is mapped if i < ht_mapped[type].
extern struct ht_proc *ht_procs;
extern struct ht_stream *ht_streams;
extern u8 *ht_chunks; // chunk i is at ht_chunks + i * HT_CHUNK_SIZE
extern struct ht_pc *ht_pcs;
extern struct ht_node *ht_nodes;
extern u8 *ht_module_log;
extern u64 ht_mapped[HT_SEG_TYPES]; // elements (bytes for META, MODULES) mapped in this process, from the first on

// Makes elements up to and including `index` of the array accessible: maps segments that another process added, or adds
// one. 0, or -1 (no memory, no file access, limits): the caller degrades. Reentrant, waits for nobody.
HT_COLD int ht_array_reach(int type, u64 index);

// True if element `index` may be touched.
HT_INLINE int ht_array_has(int type, u64 index)
{
	return ht_likely(index < ht_load_acquire(&ht_mapped[type])) || ht_array_reach(type, index) == 0;
}

HT_INLINE void ht_count(enum ht_counter c)
{
	if (ht_header)
		__atomic_fetch_add(&ht_header->counters[c], 1, __ATOMIC_RELAXED);
}

// Private memory of the agent's own, zeroed; null if there is none. Sizes are rounded up to pages.
void *ht_map(u64 size);
void ht_unmap(void *p, u64 size);
// Grows (possibly moves) what ht_map gave; null leaves the old one as it was.
void *ht_remap(void *p, u64 old_size, u64 new_size);

#endif
