// SPDX-License-Identifier: Apache-2.0
//
// environ.h: the environment and the auxiliary vector as the kernel passed them at exec, and text without libc.
#ifndef HT_ENVIRON_H
#define HT_ENVIRON_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

void ht_environ_init(void);
// The value of a variable, or null if it is not there, or empty. Valid until ht_environ_done.
const char *ht_environ_get(const char *name);
// Is a variable set to 1 or true? What is neither that nor 0 nor false is complained of.
int ht_environ_flag(const char *name);
// Copies the NAME=VALUE strings that matter to allocators to out (NUL-separated); returns the bytes used.
u64 ht_environ_copy(char *out, u64 size);
void ht_environ_done(void);
// A value of the auxiliary vector, 0 if absent.
u64 ht_auxv(u64 type);

// Text, without libc.
u64 ht_strlen(const char *s);
int ht_streq(const char *a, const char *b);
// Appends s (or a number) to the NUL-terminated string of at most `size` bytes at out; returns its new length, never
// more than size - 1.
u64 ht_append(char *out, u64 size, const char *s);
u64 ht_append_number(char *out, u64 size, u64 value, u32 base);
// A number with an optional suffix K, M, G (KiB and so on are accepted too); `otherwise` if s is null or no number.
u64 ht_number(const char *s, u64 otherwise);
// As ht_number, but all of s must be that number and its suffix: 0, or -1.
int ht_number_exact(const char *s, u64 *value);

// Says on stderr that a variable's value is not what is wanted.
void ht_complain(const char *name, const char *value, const char *wanted);

#pragma GCC visibility pop

#endif
