// SPDX-License-Identifier: Apache-2.0
//
// api.h: what the program has set through heaptap.h, as far as events depend on it.
#ifndef HT_API_H
#define HT_API_H

#include "base/base.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

HT_EXPORT heaptap_api_function heaptap_api;

void ht_api_after_fork(void);
// A forked child has streams of its own.
void ht_api_forked(void);

#endif
