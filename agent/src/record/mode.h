// SPDX-License-Identifier: Apache-2.0
//
// mode.h: which mode holds, and when it changes.
#ifndef HT_MODE_H
#define HT_MODE_H

#include "base/base.h"

// Reads the environment into the header, which nobody else sees yet.
void ht_mode_init(void);
// This process goes by ht_header.control from here on.
HT_COLD void ht_mode_follow(void);
// Something else than the control has changed that slow_flags depends on.
void ht_mode_changed(void);
// Starts or stops recording at once, by changing ht_header.control.
void ht_mode_switch(int on);
// Fills in the mode of a new process.
void ht_mode_claim(struct ht_proc *p);
// While HEAPTAP_START_AFTER or HEAPTAP_STOP_AFTER is still to come: is it time, with so many more allocations? Returns
// ht_state.slow_flags as it is then.
HT_COLD u64 ht_mode_wait(u64 allocations);

#endif
