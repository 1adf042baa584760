// SPDX-License-Identifier: Apache-2.0
//
// spool.h: the spool as a file: made, opened ahead, published, dropped.
#ifndef HT_SPOOL_H
#define HT_SPOOL_H

#include "base/base.h"

// Opens the spill file, where chunks go that nobody takes, to append to it. A descriptor, or -1: it cannot be reached.
long ht_spill_open(void);
// Past RLIMIT_FSIZE the kernel does not only refuse, it sends SIGXFSZ: may a file reach this size?
int ht_size_allowed(u64 end);
u64 ht_now_ns(int clock);
// Has the kernel find memory or disk for a part of what is mapped: 0, or -1 if there is none. What its pages hold
// already, they keep; any number of threads and processes may ask for the same pages at once.
int ht_provide(u8 *at, u64 length);

// Before a seccomp filter is installed that will forbid it: the spool's arrays are mapped as far as they may grow, 2.4
// GiB; `some`: only 128 MiB of them, for the program may yet lock all its memory.
HT_COLD void ht_spool_open_ahead(int some);
// The spool's arrays grow now, by what most programs need.
HT_COLD void ht_spool_fill_ahead(void);
// From here on, ht_now_ns can reckon what time it is.
HT_COLD void ht_now_ahead(void);

// Name of the spool, and the run's folder in which it lies, without a slash at its end; 0 if there is none, or it does
// not fit.
const char *ht_spool_name(void);
int ht_spool_folder(char *out, u64 size);

#pragma GCC visibility push(hidden)

// Creates and maps the spool. -1: the agent steps aside.
int ht_spool_init(void);
// The agent steps aside before there is one: the reason is left as a mark in the run's folder, or else by a text on
// stderr.
void ht_spool_unmade(const char *reason, const char *text);
// The agent steps aside after all: nothing is left of the spool.
void ht_spool_drop(void);
// The spool becomes visible to readers.
void ht_spool_publish(void);

#pragma GCC visibility pop

#endif
