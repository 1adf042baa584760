// SPDX-License-Identifier: Apache-2.0
//
// monitor.c: the program's own callbacks.
//
// Removing a monitor makes all threads execute a barrier. After it, each thread either has announced its call
// (ht_monitor_begin), or will see that the monitor is gone. Then the remover waits until every number that was odd has
// changed. So removal costs events nothing.

#include <errno.h>
#include <linux/membarrier.h>
#include <time.h>

#include "observe/monitor.h"
#include "base/local.h"
#include "base/state.h"
#include "base/sys.h"
#include "record/mode.h"
#include "record/thread.h"

#define SERIAL_SHIFT 8 // a monitor's number: serial << 8 | place + 1
// The number of a place without a monitor: TAKEN while it is being filled or emptied; or the removed monitor's number,
// negated, while that may still be running.
#define TAKEN (-1)

struct ht_monitors ht_monitors;
static u32 serial;

void ht_monitor_call_allocated(u32 bits, u64 requested, u64 usable, const void *p)
{
	for (; bits; bits &= bits - 1) {
		const struct heaptap_monitor *m = &ht_monitors.places[__builtin_ctz(bits)].monitor;
		m->allocated(requested, usable, p, m->user);
	}
}

void ht_monitor_call_deallocated(u32 bits, u64 usable, const void *p)
{
	for (; bits; bits &= bits - 1) {
		const struct heaptap_monitor *m = &ht_monitors.places[__builtin_ctz(bits)].monitor;
		m->deallocated(usable, p, m->user);
	}
}

void ht_monitor_end_otherwise(int saved)
{
	errno = saved;
	ht_local.hidden--;
}

// A thread without a state cannot be waited for.
static u32 begin(int *saved)
{
	struct ht_thread *t = ht_thread_mine();
	if (ht_likely(t != 0))
		return ht_monitor_begin(t, saved);
	ht_local.hidden++;
	*saved = errno;
	return ht_load_acquire(&ht_monitors.registered);
}

void ht_monitor_allocation(u64 requested, u64 usable, const void *p)
{
	int saved;
	ht_monitor_call_allocated(begin(&saved), requested, usable, p);
	ht_monitor_end(saved);
}

void ht_monitor_deallocation(u64 usable, const void *p)
{
	int saved;
	ht_monitor_call_deallocated(begin(&saved), usable, p);
	ht_monitor_end(saved);
}

// ---------------------------------------------------------------------------------------------------------------------

static void nap(void)
{
	struct timespec t = {0, 100000};
	if (ht_sys2(__NR_nanosleep, &t, 0) == -EPERM) // a filter forbids it
		for (u32 i = 0; i < 100000; i++)
			HT_FENCE();
}

// After this, all threads of the process see what this thread has stored, and this thread sees what they stored before.
static void barrier_of_all(void)
{
	if (ht_sys2(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0)
		return;
	ht_sys2(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
	if (ht_sys2(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0 ||
	    ht_sys2(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0) == 0)
		return;
	for (u32 i = 0; i < 100; i++) // no such call: other threads see a store long before this time has passed
		nap();
}

// Waits until every callback that has begun has ended. Does not wait if called from within a callback.
static int wait_for_callbacks(void)
{
	struct ht_thread *me = ht_thread_mine();
	int leaving[HEAPTAP_MONITORS];
	// before the barrier: a monitor that is removed after it may be called without being seen
	for (u32 i = 0; i < HEAPTAP_MONITORS; i++)
		leaving[i] = ht_load_acquire(&ht_monitors.places[i].number);
	barrier_of_all();
	if (me && me->calling & 1)
		return HEAPTAP_RUNNING;
	for (struct ht_thread *t = ht_threads(); t; t = t->next) {
		u64 calling = ht_load_acquire(&t->calling);
		while (calling & 1 && ht_load_acquire(&t->calling) == calling && !ht_thread_is_gone(t))
			nap();
	}
	for (u32 i = 0; i < HEAPTAP_MONITORS; i++)
		if (leaving[i] < TAKEN)
			__atomic_compare_exchange_n(&ht_monitors.places[i].number, &leaving[i], 0, 0, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED);
	return HEAPTAP_OK;
}

static void ignore_allocation(size_t requested, size_t usable, const void *address, void *user)
{
	(void)requested, (void)usable, (void)address, (void)user;
}
static void ignore_deallocation(size_t usable, const void *address, void *user)
{
	(void)usable, (void)address, (void)user;
}

static int put_into(u32 i, const struct heaptap_monitor *monitor)
{
	int number = 0;
	if (!__atomic_compare_exchange_n(&ht_monitors.places[i].number, &number, TAKEN, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return 0;
	ht_monitors.places[i].monitor = *monitor;
	if (!monitor->allocated)
		ht_monitors.places[i].monitor.allocated = ignore_allocation;
	if (!monitor->deallocated)
		ht_monitors.places[i].monitor.deallocated = ignore_deallocation;
	number = (int)((__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED) << SERIAL_SHIFT & 0x7fffffff) | (i + 1));
	ht_store_release(&ht_monitors.places[i].number, number);
	__atomic_fetch_or(&ht_monitors.registered, 1u << i, __ATOMIC_SEQ_CST);
	ht_mode_changed();
	return number;
}

int ht_monitor_add(const struct heaptap_monitor *monitor, size_t size)
{
	if (!ht_init())
		return HEAPTAP_NOT_LOADED;
	if (!monitor || size < sizeof(*monitor) || (!monitor->allocated && !monitor->deallocated))
		return HEAPTAP_INVALID;
	for (u32 try = 0; try < 2; try++) {
		for (u32 i = 0; i < HEAPTAP_MONITORS; i++) {
			int number = put_into(i, monitor);
			if (number)
				return number;
		}
		wait_for_callbacks(); // some places may become free by that
	}
	return HEAPTAP_FULL;
}

int ht_monitor_remove(int monitor)
{
	u32 i = (u32)(monitor & 255) - 1;
	if (!ht_init())
		return HEAPTAP_NOT_LOADED;
	if (monitor == 0)
		return wait_for_callbacks();
	if (monitor < 0 || i >= HEAPTAP_MONITORS ||
	    !__atomic_compare_exchange_n(&ht_monitors.places[i].number, &monitor, TAKEN, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return HEAPTAP_INVALID;
	__atomic_fetch_and(&ht_monitors.registered, ~(1u << i), __ATOMIC_SEQ_CST);
	ht_mode_changed();
	// Threads that still call it use the place, which becomes free only when none does.
	ht_store_release(&ht_monitors.places[i].number, -monitor);
	return wait_for_callbacks();
}
