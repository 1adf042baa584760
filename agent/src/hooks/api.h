// SPDX-License-Identifier: Apache-2.0
//
// api.h: what the program has asked of the agent by heaptap.h, as far as events have to know.
#ifndef HT_API_H
#define HT_API_H

#include "base/base.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

HT_EXPORT heaptap_api_function heaptap_api;

void ht_api_after_fork(void);
// The child has its own streams.
void ht_api_forked(void);

#endif
