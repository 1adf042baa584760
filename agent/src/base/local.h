// SPDX-License-Identifier: Apache-2.0
//
// local.h: the agent's thread-local storage.
#ifndef HT_LOCAL_H
#define HT_LOCAL_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct ht_caller {
	u64 pc; // return address
	u64 sp; // the caller's stack pointer after the return
	u64 fp; // the caller's frame pointer
};

// The C++ operator, or the function of a foreign allocator, that a hook of this thread is running. What it calls itself
// (malloc, or operator new from operator new[]) belongs to its event. An exception or a longjmp may leave this set, so
// only calls from the code of a real operator, or of the allocator, are treated as nested (hooks_cxx.c).
struct ht_operator {
	u64 sp; // the hook's caller's stack pointer; 0: none is running
	u64 slot; // where the return address into the hook lies
	u64 kind, size, extra_kind, extra;
	struct ht_caller caller;
	u32 asking; // the allocator is being asked for a usable size; sp is not 0 then
	u32 failed; // its allocation failed, and only a new_handler can still provide memory
	u32 stack;
};

// All of the agent's thread-local storage.
struct ht_local {
	struct ht_thread *thread; // its state; ht_no_thread, whose stream is always busy, before its first event
	struct ht_operator operator;
	i64 budget; // bytes, or calls, until the next sample
	u64 random; // state of the generator; 0: not seeded yet
	struct ht_measures *measures; // of a thread that was forked and has no state yet
	struct ht_regions *regions; // the same
	u32 paused; // heaptap_pause; not 0: new allocations are not recorded
	u32 hidden; // heaptap_hide, or a monitor is being called; not 0: nothing is reported or measured
	u64 serves; // the pool for which the thread's allocations are backing; 0: none. See api.c
	u64 number; // heaptap_thread's number; 0: not asked for yet. See shared.c
	u32 unreported; // alloc_monitor_stop_thread_reporting; not 0: counted once in hidden
	// filter.c: what this thread has forbidden itself.
	const struct ht_filter *filters; // the newest one
	const struct ht_filter *filters_before; // the thread's own, while filters_pid is not 0
	u32 filters_pid; // the vforked child that installed them, in this thread's memory; 0: the thread itself
	u8 filters_known; // the list is complete; otherwise the thread may have inherited others
	u8 filters_asked; // the kernel was asked whether there are any
	u8 clock_known; // the timestamp counter may be read
	u8 stopped; // why nothing is recorded of this thread; 0: it is recorded
};
extern __thread struct ht_local ht_local __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop

#endif
