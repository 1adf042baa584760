// SPDX-License-Identifier: Apache-2.0
//
// shared.h: what a process has once, in however many of its modules a header of heaptap's is compiled in. heaptap.h
// says what each function promises.
#ifndef HT_SHARED_H
#define HT_SHARED_H

#include "base/base.h"

void *ht_shared(const char *name, size_t size);
uint64_t ht_thread_number(void);

#endif
