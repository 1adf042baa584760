// SPDX-License-Identifier: Apache-2.0
//
// monitor.h: calls what the program has registered by heaptap_monitor_add.
#ifndef HT_MONITOR_H
#define HT_MONITOR_H

#include "agent.h"

#define HEAPTAP_AGENT
#include "../../include/heaptap/heaptap.h"

extern u32 ht_monitors; // bit i: the monitor in place i is registered

// Call the monitors for what the calling thread does.
void ht_monitor_allocation(u64 requested, u64 usable, const void *p);
void ht_monitor_deallocation(u64 usable, const void *p);

// The functions of heaptap.h.
int ht_monitor_add(const struct heaptap_monitor *monitor, size_t size);
int ht_monitor_remove(int monitor);

#endif
