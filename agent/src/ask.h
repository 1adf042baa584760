// SPDX-License-Identifier: Apache-2.0
//
// ask.h: questions to the recorder, which keeps the books.
#ifndef HT_ASK_H
#define HT_ASK_H

#include "agent.h"

#define HEAPTAP_AGENT
#include "../../include/heaptap/heaptap.h"

// The functions of heaptap.h.
int ht_ask_live(struct heaptap_live *out, size_t size, unsigned timeout);
int ht_ask_dump(int fd, const char *what, unsigned timeout);

#endif
