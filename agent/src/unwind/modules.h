// SPDX-License-Identifier: Apache-2.0
//
// modules.h: which modules are loaded where. The table is written by the thread that first finds a module, and read by
// all, without locks. An entry's memory is never freed, and an entry is only used by a thread with a frame in that
// module.
#ifndef HT_MODULES_H
#define HT_MODULES_H

#include "base/base.h"
#include "unwind/cfi.h"

struct ht_loaded {
	u32 state;
	u32 id; // as in the module log
	u64 start, end, bias;
	const void *link; // the loader's link_map; null if unknown
	u64 mark; // a hash of its ELF header and program headers
	u32 permanent; // loaded at the start, so never unloaded
	u32 reserved;
	struct ht_cfi_text cfi;
};

// Returns the module that contains pc, after registering and logging it if it is new; null if there is none. Takes no
// lock. `buffer` is working memory of HT_MODULE_WORK bytes.
#define HT_MODULE_BUFFER 8192 // a path and more
#define HT_MODULE_WORK (HT_MODULE_BUFFER + 256)
const struct ht_loaded *ht_module_of(u64 pc, char *buffer);

// Notes a file whose allocations bypass the agent: HT_APART_...
HT_COLD void ht_module_apart(u32 why, const char *path);

// Whether there is executable memory outside of all modules at this address (generated code). Caches a few such
// mappings.
int ht_is_generated(u64 pc, char *buffer);

// Whether the 8 bytes at this address can be read.
int ht_readable(u64 address);

// A line of /proc/self/maps.
struct ht_mapping {
	u64 start, end;
	u64 file; // where the run of mappings of the same file begins; 0 if it has no file
	u32 readable, executable;
	const char *path; // in the buffer; "" if it has none
};
// Calls visit for every mapping, from the lowest address on, until it returns nonzero. Then the path remains in the
// buffer.
void ht_maps_walk(char *buffer, u64 size, int (*visit)(const struct ht_mapping *, void *), void *arg);
// Finds the mapping that contains the address. Returns 0, or -1: there is none, or it cannot be found out.
int ht_maps_find(u64 address, char *buffer, u64 size, struct ht_mapping *out);

// glibc's _dl_find_object (2.35 and later), or null. Looked up by name like the allocation functions, because an
// import, even a weak one, would make the agent require that version.
extern int (*ht_find_object)(void *pc, void *result);

#pragma GCC visibility push(hidden)

// Builds the table of loaded modules and writes them to the module log. May take the loader's lock.
int ht_modules_init(void);
// Called (outside of any walk, busy set) when an event's caller is the dynamic loader: looks for unloaded modules, logs
// them, drops their rules and raises ht_state.generation so that every memo is dropped too. Takes no lock.
void ht_modules_check(void);
// Whether any module is known that may be unloaded. While there is none, ht_modules_check has nothing to do.
int ht_modules_may_unload(void);
// When a module was last logged, by the clock: an event with a frame in it must not have an earlier time.
extern u64 ht_module_met;
// Called in a forked child, before its first event: module ids and tables stay valid, whatever the parent's other
// threads were doing at the fork.
void ht_tables_after_fork(void);

// Whether pc is inside the dynamic loader. Every event tests its caller.
extern u64 ht_loader_low, ht_loader_size;
HT_INLINE int ht_in_loader(u64 pc)
{
	return pc - ht_loader_low < ht_loader_size;
}

// Whether the process runs under valgrind. Its tools that replace malloc intercept all calls, including those of our
// hooks.
#define HT_VALGRIND_RUNS 1
#define HT_VALGRIND_REPLACES 2
extern u32 ht_valgrind;

// hooks/fast_hooks.c: called when there is a module that may be unloaded: from now on, a deallocation by the loader may
// mean that it was.
HT_COLD void ht_fast_hooks_watch_loader(void);

#pragma GCC visibility pop

#endif
