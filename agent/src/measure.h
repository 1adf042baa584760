// SPDX-License-Identifier: Apache-2.0
//
// measure.h: what heaptap_measure_begin and its kin count.
#ifndef HT_MEASURE_H
#define HT_MEASURE_H

#include "agent.h"

#define HEAPTAP_AGENT
#include "../../include/heaptap/heaptap.h"

extern u32 ht_measures_running; // how many, of all threads and of the process

// An allocation, or a deallocation, of the calling thread.
void ht_measure_allocation(u64 requested, u64 usable);
void ht_measure_deallocation(u64 usable);

// The thread has ended: its totals stay, and will be added to by the next one.
void ht_measures_leave(struct ht_measures *m);
void ht_measures_after_fork(void);

// The functions of heaptap.h.
int64_t ht_measure_begin(unsigned flags);
int ht_measure_read(int64_t measure, struct heaptap_measured *out, size_t size);
int ht_measure_end(int64_t measure, struct heaptap_measured *out, size_t size);

#endif
