// SPDX-License-Identifier: Apache-2.0
//
// init.c: initializes the agent, once per executed image, and again in a forked child.

#include <sys/mman.h>

#include "base/base.h"
#include "base/environ.h"
#include "base/filter.h"
#include "base/local.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/chunks.h"
#include "spool/spool.h"
#include "spool/sum.h"
#include "unwind/cct.h"
#include "unwind/modules.h"
#include "unwind/rules.h"
#include "unwind/shadow.h"
#include "record/mode.h"
#include "record/real.h"
#include "record/slow.h"
#include "record/thread.h"
#include "observe/threshold.h"
#include "hooks/apart.h"
#include "hooks/api.h"
#include "hooks/choose.h"
#include "hooks/fast_hooks.h"
#include "hooks/timed.h"

struct ht_state ht_state[1] HT_LARGE;

static u64 free_stacks; // survives a fork; ht_state's copy does not

static enum { FRESH, STARTING, UP, ASIDE } phase;

static void after_fork_hook(void)
{
	if (phase == UP)
		ht_state->generation = ht_state->common = ht_state->noticed_by = ht_state->dispatch = 0;
}

// Kernels before 4.14 cannot wipe a page on fork. There, libc calls us after a fork (but not after a raw clone).
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

// The page is anonymous memory, because only that can be wiped: the loader maps nothing from the file beyond the page
// in which the initialized data ends.
static void start_state(void)
{
	if (ht_sys3(__NR_madvise, ht_state, HT_STATE_PAGE, 18 /* MADV_WIPEONFORK */) < 0 && __register_atfork)
		__register_atfork(0, 0, after_fork_hook, 0);
	ht_state->free_stacks = free_stacks;
	ht_store_release(&ht_state->generation, 1);
}

static void claim_process(u32 parent)
{
	u32 slot;
	long parent_pid = ht_sys0(__NR_getppid);
	ht_pid = (u32)ht_sys0(__NR_getpid);
	// As little as possible happens between taking a slot and filling it, because a reader waits for that.
	ht_array_has(HT_SEG_PROCS, ht_load(&ht_header->next_proc));
	slot = __atomic_fetch_add(&ht_header->next_proc, 1, __ATOMIC_RELAXED);
	ht_process = slot;
	if (!ht_array_has(HT_SEG_PROCS, slot)) {
		phase = ASIDE; // after 65,536 children, the others run unrecorded
		ht_count(HT_C_TABLE_FULL);
		return;
	}
	struct ht_proc *p = &ht_procs[slot];
	p->pid = ht_pid;
	p->parent = parent;
	p->fork_time = parent == HT_NONE ? 0 : ht_clock();
	p->random = ht_auxv(25 /* AT_RANDOM */);
	p->parent_pid = parent_pid > 0 ? (u32)parent_pid : 0;
	p->sum = ht_sum_proc(p);
	ht_mode_claim(p);
	ht_store_release(&p->state, HT_PROC_LIVE);
	ht_wake_recorder(); // it sleeps while nothing happens, and this process may not live long
}

// The child's first thread may have created others, on stacks that libc had cached, before any of them had an event.
// One of them does the following; the others wait for it as they would for the kernel: it takes no locks and needs
// microseconds.
#define YIELDS_MAX 100000 // how often a waiting thread yields, at most

static HT_COLD void after_fork(void)
{
	u32 none = 0, tid = (u32)ht_sys0(__NR_gettid);
	if (!__atomic_compare_exchange_n(&ht_state->noticed_by, &none, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		for (u32 i = 0; i < YIELDS_MAX && none != tid && !ht_load_acquire(&ht_state->generation); i++)
			ht_sys0(__NR_sched_yield);
		return;
	}
	if (!ht_clock_is_allowed() || ht_sys0(__NR_getpid) < 0) { // forbidden, see filter.h
		phase = ASIDE;
		ht_count(HT_C_LOST);
		if (ht_local.stopped)
			ht_count(HT_C_STOPPED);
		ht_fast_hooks_bypass();
		return;
	}
	ht_state->free_stacks = free_stacks;
	ht_threads_after_fork();
	ht_api_after_fork();
	ht_tables_after_fork();
	ht_sample_after_fork();
	if (ht_forks_are_chosen())
		claim_process(ht_process);
	else
		phase = ASIDE;
	// A number that no memo of this process can have.
	ht_store_release(&ht_state->generation, ht_clock() | 1);
	if (phase == UP) {
		ht_mode_follow();
		ht_api_forked();
	} else {
		ht_fast_hooks_bypass();
	}
}

static HT_COLD void start(void)
{
	ht_real_init();
	ht_environ_init();
	free_stacks = (u64)ht_environ_flag("HEAPTAP_FREE_STACKS");
	ht_shadow_init();
	// Under an unknown filter, we may do only what the loader does, too. So we do not even leave a mark.
	int ok = ht_filter_init() == 0 && ht_is_chosen();
	if (ok && ht_valgrind & HT_VALGRIND_REPLACES) {
		ht_spool_unmade("valgrind", "valgrind's tool replaces malloc; this process is not recorded");
		ok = 0;
	}
	ok = ok && ht_spool_init() == 0;
	if (ok) {
		ht_mode_init();
		ht_threshold_init();
		claim_process(HT_NONE);
		ok = ht_rules_init() == 0 && ht_cct_init() == 0 && ht_modules_init() == 0;
		if (ok) {
			start_state();
			ht_apart_init();
			if (ht_environ_flag("HEAPTAP_TIME_CALLS"))
				ht_timed_init();
			ht_mode_follow();
			ht_spool_publish();
		} else {
			ht_spool_drop();
		}
	}
	if (!ok)
		ht_fast_hooks_bypass();
	ht_environ_done();
	ht_store_release(&phase, ok ? UP : ASIDE);
}

int ht_init(void)
{
	int fresh = FRESH;
	if (ht_likely(phase == UP)) {
		if (ht_unlikely(ht_state->generation == 0))
			after_fork();
		return phase == UP && ht_state->generation;
	}
	if (phase == FRESH &&
	    __atomic_compare_exchange_n((int *)&phase, &fresh, STARTING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		start();
	if (ht_unlikely(phase == ASIDE &&
			// a child of a process in which the agent has stepped aside
			ht_state->dispatch != HT_DISPATCH_FAST_HOOKS))
		ht_fast_hooks_bypass();
	return phase == UP;
}

__attribute__((constructor)) static void constructor(void)
{
	ht_init();
}
