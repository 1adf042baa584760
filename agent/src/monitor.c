// SPDX-License-Identifier: Apache-2.0
//
// monitor.c: the program's own callbacks.
//
// Who calls says so in its own thread's state, with plain stores: ht_thread.calling is odd meanwhile. Who removes a monitor
// makes all threads execute a barrier, so that each has either said so or will see that the monitor is gone, and then waits
// until all numbers that were odd have moved on. So the cost of removing is not paid by events.

#include <errno.h>
#include <linux/membarrier.h>
#include <time.h>

#include "mode.h"
#include "monitor.h"
#include "sys.h"

#define SERIAL_SHIFT 8 // a monitor's number: serial << 8 | place + 1
#define TAKEN (-1)
#define LEAVING (-2)

static struct place {
	int number; // 0: free; TAKEN: being filled or emptied; LEAVING: removed, but perhaps still running
	struct heaptap_monitor monitor;
} places[HEAPTAP_MONITORS];
u32 ht_monitors;
static u32 serial;

// What is needed again after the callbacks is read again, not kept, so that this costs few registers.
HT_INLINE u32 begin(struct ht_thread **t, int *saved_errno)
{
	*t = ht_thread_mine();
	if (ht_unlikely(!ht_local.errno_at))
		ht_local.errno_at = &errno;
	*saved_errno = *ht_local.errno_at;
	ht_local.hidden++;
	if (ht_likely(*t != 0))
		ht_store(&(*t)->calling, (*t)->calling + 1);
	HT_FENCE();
	return ht_load_acquire(&ht_monitors);
}

HT_INLINE void end(struct ht_thread *t, int saved_errno)
{
	HT_FENCE();
	if (ht_likely(t != 0) && ht_likely(t == ht_local.thread)) // a callback may have forked
		ht_store_release(&t->calling, t->calling + 1);
	ht_local.hidden--;
	*ht_local.errno_at = saved_errno;
}

HT_INLINE void call_allocated(u32 bits, u64 requested, u64 usable, const void *p)
{
	const struct heaptap_monitor *m = &places[__builtin_ctz(bits)].monitor;
	if (m->allocated)
		m->allocated(requested, usable, p, m->user);
}

HT_INLINE void call_deallocated(u32 bits, u64 usable, const void *p)
{
	const struct heaptap_monitor *m = &places[__builtin_ctz(bits)].monitor;
	if (m->deallocated)
		m->deallocated(usable, p, m->user);
}

static HT_NOINLINE void call_all_allocated(u32 bits, u64 requested, u64 usable, const void *p)
{
	for (; bits; bits &= bits - 1)
		call_allocated(bits, requested, usable, p);
}

static HT_NOINLINE void call_all_deallocated(u32 bits, u64 usable, const void *p)
{
	for (; bits; bits &= bits - 1)
		call_deallocated(bits, usable, p);
}

HT_INLINE int is_one(u32 bits)
{
	return ht_likely((bits & (bits - 1)) == 0) && ht_likely(bits != 0);
}

void ht_monitor_allocation(u64 requested, u64 usable, const void *p)
{
	struct ht_thread *t;
	int saved_errno;
	u32 bits = begin(&t, &saved_errno);
	if (is_one(bits))
		call_allocated(bits, requested, usable, p);
	else
		call_all_allocated(bits, requested, usable, p);
	end(t, saved_errno);
}

void ht_monitor_deallocation(u64 usable, const void *p)
{
	struct ht_thread *t;
	int saved_errno;
	u32 bits = begin(&t, &saved_errno);
	if (is_one(bits))
		call_deallocated(bits, usable, p);
	else
		call_all_deallocated(bits, usable, p);
	end(t, saved_errno);
}

// ---------------------------------------------------------------------------------------------------------------------

static void nap(void)
{
	struct timespec t = {0, 100000};
	ht_sys2(__NR_nanosleep, &t, 0);
}

// What this thread has stored is seen by all threads of the process, and what they stored before by this one.
static void barrier_of_all(void)
{
	if (ht_sys2(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0)
		return;
	ht_sys2(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
	if (ht_sys2(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0 ||
	    ht_sys2(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0) == 0)
		return;
	for (u32 i = 0; i < 100; i++) // no such call: a store is seen by others long before this has passed
		nap();
}

// Waits until no callback runs that began before; from within one, for nobody.
static int wait_for_callbacks(void)
{
	struct ht_thread *me = ht_thread_mine();
	u32 leaving = 0;
	for (u32 i = 0; i < HEAPTAP_MONITORS; i++) // before the barrier: what leaves after it may be called unseen
		leaving |= (u32)(ht_load_acquire(&places[i].number) == LEAVING) << i;
	barrier_of_all();
	if (me && me->calling & 1)
		return HEAPTAP_RUNNING;
	for (struct ht_thread *t = ht_threads(); t; t = t->next) {
		u64 calling = ht_load_acquire(&t->calling);
		while (calling & 1 && ht_load_acquire(&t->calling) == calling && !ht_thread_is_gone(t))
			nap();
	}
	for (; leaving; leaving &= leaving - 1) {
		int number = LEAVING;
		__atomic_compare_exchange_n(&places[__builtin_ctz(leaving)].number, &number, 0, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	}
	return HEAPTAP_OK;
}

static int put_into(u32 i, const struct heaptap_monitor *monitor)
{
	int number = 0;
	if (!__atomic_compare_exchange_n(&places[i].number, &number, TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	places[i].monitor = *monitor;
	number = (int)((__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED) << SERIAL_SHIFT & 0x7fffffff) | (i + 1));
	ht_store_release(&places[i].number, number);
	__atomic_fetch_or(&ht_monitors, 1u << i, __ATOMIC_SEQ_CST);
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
		wait_for_callbacks(); // some places may only be waiting for that
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
	    !__atomic_compare_exchange_n(&places[i].number, &monitor, TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return HEAPTAP_INVALID;
	__atomic_fetch_and(&ht_monitors, ~(1u << i), __ATOMIC_SEQ_CST);
	ht_mode_changed();
	// Who still calls it goes by what stands in its place, which is free only when nobody does.
	ht_store_release(&places[i].number, LEAVING);
	return wait_for_callbacks();
}
