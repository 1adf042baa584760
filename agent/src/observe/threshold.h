// SPDX-License-Identifier: Apache-2.0
//
// threshold.h: the monitor that acts when an allocation has a size, or live memory exceeds a limit.
#ifndef HT_THRESHOLD_H
#define HT_THRESHOLD_H

#include "base/base.h"

// Reads HEAPTAP_THRESHOLD.
void ht_threshold_init(void);

#endif
