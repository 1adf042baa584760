// SPDX-License-Identifier: Apache-2.0
//
// calls.h: counts the system calls by which allocators get and return memory, with the player's own thread.
#ifndef HEAPTAP_CALLS_H
#define HEAPTAP_CALLS_H

#include "plan.h"

// From now on, mmap, munmap, mremap, brk, madvise and mprotect are counted by number. Returns -1 if that is impossible,
// with errno.
int count_calls(u64 *counts);
void count_no_more(void);

#endif
