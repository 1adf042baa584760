// SPDX-License-Identifier: Apache-2.0
//
// spool.h: what spool.c and chunks.c share.
#ifndef HT_SPOOL_H
#define HT_SPOOL_H

#include "agent.h"

// Where chunks go that nobody takes.
extern char ht_spill_path[];
// Past RLIMIT_FSIZE the kernel does not only refuse, it sends SIGXFSZ: may a file reach this size?
int ht_size_allowed(u64 end);
u64 ht_now_ns(int clock);

#endif
