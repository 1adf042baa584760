// SPDX-License-Identifier: Apache-2.0
//
// modules.h: what is loaded where. The table is written by whoever meets a module first and read by all, without locks;
// an entry's memory is never given back, and an entry is only used by somebody who has a frame in that module.
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
	u32 permanent; // was there from the start, and so stays
	u32 reserved;
	struct ht_cfi_text cfi;
};

// The module that contains pc, registered and logged at first sight; null if there is none. Takes no lock. `buffer` is
// working memory of HT_MODULE_WORK bytes.
#define HT_MODULE_BUFFER 8192 // a path and more
#define HT_MODULE_WORK (HT_MODULE_BUFFER + 256)
const struct ht_loaded *ht_module_of(u64 pc, char *buffer);

// Notes a file whose allocations go past the agent: HT_APART_...
HT_COLD void ht_module_apart(u32 why, const char *path);

// Is there executable memory of no module at this address: code made at run time? Remembers a few such mappings.
int ht_is_generated(u64 pc, char *buffer);

// Can the 8 bytes at this address be read?
int ht_readable(u64 address);

// A line of /proc/self/maps.
struct ht_mapping {
	u64 start, end;
	u64 file; // where the run of mappings of the same file begins that this one belongs to; 0 if it has none
	u32 readable, executable;
	const char *path; // in the buffer, "" if none
};
// Calls visit for every mapping, from the lowest address on, until it returns nonzero; then the path stays in the
// buffer.
void ht_maps_walk(char *buffer, u64 size, int (*visit)(const struct ht_mapping *, void *), void *arg);
// The mapping that contains the address. 0, or -1: none, or not to be known.
int ht_maps_find(u64 address, char *buffer, u64 size, struct ht_mapping *out);

// glibc's _dl_find_object (2.35 and later), or null. Found by name like the allocation functions: an import, even a
// weak one, would tie the agent to that version.
extern int (*ht_find_object)(void *pc, void *result);

#pragma GCC visibility push(hidden)

// Builds the table of loaded modules and writes them to the module log. May take the loader's lock.
int ht_modules_init(void);
// Called (outside of any walk, busy set) when an event's caller is the dynamic loader: looks for unloaded modules, logs
// them, drops their rules and raises ht_state.generation so that every memo is dropped too. Takes no lock.
void ht_modules_check(void);
// Is any module known that may be unloaded? While there is none, ht_modules_check has nothing to do.
int ht_modules_may_unload(void);
// When a module was logged at last, by the clock: an event through it must not bear an earlier time.
extern u64 ht_module_met;
// In a forked child, before its first event: module ids and tables stay valid, whatever the parent's other threads were
// doing at the fork.
void ht_tables_after_fork(void);

// Is pc inside the dynamic loader? Every event asks this of its caller.
extern u64 ht_loader_low, ht_loader_size;
HT_INLINE int ht_in_loader(u64 pc)
{
	return pc - ht_loader_low < ht_loader_size;
}

// Under valgrind. Tools that replace malloc take the calls of everybody, our hooks' among them.
#define HT_VALGRIND_RUNS 1
#define HT_VALGRIND_REPLACES 2
extern u32 ht_valgrind;

// hooks/fast_hooks.c: from now on there is a module that may be unloaded; deallocations by the loader may mean that it
// has been.
HT_COLD void ht_fast_hooks_watch_loader(void);

#pragma GCC visibility pop

#endif
