// SPDX-License-Identifier: Apache-2.0
//
// shared.h: what exists once in a process, however many of its modules are compiled with heaptap's headers. heaptap.h
// documents each function.
#ifndef HT_SHARED_H
#define HT_SHARED_H

#include "base/base.h"

void *ht_shared(const char *name, size_t size);
uint64_t ht_thread_number(void);

#endif
