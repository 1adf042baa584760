// SPDX-License-Identifier: Apache-2.0
//
// ask.h: requests to the recorder, which knows the totals.
#ifndef HT_ASK_H
#define HT_ASK_H

#include "base/base.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

// The functions of heaptap.h.
int ht_ask_live(struct heaptap_live *out, size_t size, unsigned timeout);
int ht_ask_dump(int fd, const char *what, unsigned timeout);

// Asks the recorder to act when the threshold is exceeded, and prints its answer to fd. `what` has numbers as
// NAME=VALUE; `stack` is the allocation's.
int ht_ask_threshold(int fd, const char *what, u32 stack, unsigned timeout);

#endif
