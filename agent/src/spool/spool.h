// SPDX-License-Identifier: Apache-2.0
//
// spool.h: the spool as a file: creating, extending ahead of need, publishing, dropping.
#ifndef HT_SPOOL_H
#define HT_SPOOL_H

#include "base/base.h"

// Opens the spill file, for chunks that no recorder takes, for appending. Returns a descriptor, or -1: it cannot be
// reached.
long ht_spill_open(void);
// Whether a file may reach this size. Beyond RLIMIT_FSIZE a write does not only fail, it raises SIGXFSZ.
int ht_size_allowed(u64 end);
u64 ht_now_ns(int clock);
// Populates part of a mapping with memory or disk space. Returns 0, or -1 if there is none. Pages keep their contents.
// Threads and processes may populate the same pages concurrently.
int ht_provide(u8 *at, u64 length);

// Called before a seccomp filter is installed that will forbid mmap: maps the spool's arrays to their maximum size, 2.4
// GiB. `some`: only 128 MiB, because the program may still lock all its memory.
HT_COLD void ht_spool_open_ahead(int some);
// Populates what most programs need of the spool's arrays.
HT_COLD void ht_spool_fill_ahead(void);
// From now on, ht_now_ns can compute the time without a system call.
HT_COLD void ht_now_ahead(void);

// The name of the spool, and the run's folder, without a trailing slash; 0 if there is none, or it does not fit.
const char *ht_spool_name(void);
int ht_spool_folder(char *out, u64 size);

#pragma GCC visibility push(hidden)

// Creates and maps the spool. Returns 0, or -1: the agent must step aside.
int ht_spool_init(void);
// Called if the agent steps aside before there is a spool: leaves the reason as a mark in the run's folder, or writes
// the text to stderr.
void ht_spool_unmade(const char *reason, const char *text);
// Called if the agent steps aside later: removes the spool.
void ht_spool_drop(void);
// Makes the spool visible to readers.
void ht_spool_publish(void);

#pragma GCC visibility pop

#endif
