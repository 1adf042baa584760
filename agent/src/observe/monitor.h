// SPDX-License-Identifier: Apache-2.0
//
// monitor.h: calls what the program has registered by heaptap_monitor_add.
#ifndef HT_MONITOR_H
#define HT_MONITOR_H

#include "base/arch_amd64.h"
#include "base/base.h"
#include "base/sys.h"
#include "record/thread.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

struct ht_monitors {
	u32 registered; // bit i: place i is in use
	struct ht_monitor_place {
		int number; // 0: free; else see monitor.c
		struct heaptap_monitor monitor; // a missing callback is replaced by one that does nothing
	} places[HEAPTAP_MONITORS];
};
extern struct ht_monitors ht_monitors;

// Call the monitors for what the calling thread does.
void ht_monitor_allocation(u64 requested, u64 usable, const void *p);
void ht_monitor_deallocation(u64 usable, const void *p);

// ---------------------------------------------------------------------------------------------------------------------
// Around the callbacks. The calling thread announces it in its own state, with plain stores: ht_thread.calling is odd
// meanwhile.

// Returns which monitors are registered. `saved` must be passed to ht_monitor_end.
HT_INLINE u32 ht_monitor_begin(struct ht_thread *t, int *saved)
{
	t->local->hidden++;
	*saved = *t->errno_at;
	ht_add_here(&t->calling, 1);
	HT_FENCE();
	return ht_load_acquire(&ht_monitors.registered);
}

// The same if the thread's state is no longer the one at the begin.
HT_COLD void ht_monitor_end_otherwise(int saved);

HT_INLINE void ht_monitor_end(int saved)
{
	struct ht_thread *t = ht_thread_again();
	HT_FENCE();
	if (ht_unlikely(!(t->calling & 1))) { // a callback has forked
		ht_monitor_end_otherwise(saved);
		return;
	}
	*t->errno_at = saved;
	ht_add_here(&t->calling, 1);
	t->local->hidden--;
}

// Call those of `bits`, which ht_monitor_begin returned.
HT_NOINLINE void ht_monitor_call_allocated(u32 bits, u64 requested, u64 usable, const void *p);
HT_NOINLINE void ht_monitor_call_deallocated(u32 bits, u64 usable, const void *p);

// The functions of heaptap.h.
int ht_monitor_add(const struct heaptap_monitor *monitor, size_t size);
int ht_monitor_remove(int monitor);

#endif
