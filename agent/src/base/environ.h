// SPDX-License-Identifier: Apache-2.0
//
// environ.h: the environment and the auxiliary vector as the kernel passed them at exec, and string functions that do
// not use libc.
#ifndef HT_ENVIRON_H
#define HT_ENVIRON_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

void ht_environ_init(void);
// Returns the value of a variable, or null if it is missing or empty. Valid until ht_environ_done.
const char *ht_environ_get(const char *name);
// Whether a variable is set to 1 or true. Complains on stderr about a value that is not a boolean.
int ht_environ_flag(const char *name);
// Copies the NAME=VALUE strings that matter to allocators to out (NUL-separated); null: nowhere. Returns the number
// of bytes used.
u64 ht_environ_copy(char *out, u64 size);
void ht_environ_done(void);
// Returns memory that the copy of the environment leaves free: at least `size` bytes, or null. Whoever asks next gets
// the same. Valid until ht_environ_done.
void *ht_environ_room(u64 size);
// Returns a value of the auxiliary vector, 0 if absent.
u64 ht_auxv(u64 type);

// String functions that do not use libc.
u64 ht_strlen(const char *s);
int ht_streq(const char *a, const char *b);
// Appends s (or a number) to the NUL-terminated string at out, whose buffer has `size` bytes. Returns its new length,
// at most size - 1.
u64 ht_append(char *out, u64 size, const char *s);
u64 ht_append_number(char *out, u64 size, u64 value, u32 base);
// Parses a number with an optional suffix K, M or G (KiB and so on are accepted too). Returns `otherwise` if s is null
// or not a number.
u64 ht_number(const char *s, u64 otherwise);
// Like ht_number, but nothing may follow the number and its suffix. Returns 0 or -1.
int ht_number_exact(const char *s, u64 *value);

// Reports on stderr that a variable has an invalid value; `wanted` says what it must be.
void ht_complain(const char *name, const char *value, const char *wanted);

#pragma GCC visibility pop

#endif
