// SPDX-License-Identifier: Apache-2.0
//
// mode.h: which mode is in force, and when it changes.
#ifndef HT_MODE_H
#define HT_MODE_H

#include "base/base.h"

// Reads the environment into the header, which is not published yet.
void ht_mode_init(void);
// From now on, this process follows ht_header.control.
HT_COLD void ht_mode_follow(void);
// To be called when something has changed, other than the control, that slow_flags depends on.
void ht_mode_changed(void);
// Starts or stops recording at once, by changing ht_header.control.
void ht_mode_switch(int on);
// Fills in the mode of a new process.
void ht_mode_claim(struct ht_proc *p);
// While HEAPTAP_START_AFTER or HEAPTAP_STOP_AFTER is pending: counts the allocations, and starts or stops when it is
// time. Returns the new ht_state.slow_flags.
HT_COLD u64 ht_mode_wait(u64 allocations);

#endif
