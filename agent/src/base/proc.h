// SPDX-License-Identifier: Apache-2.0
//
// proc.h: files of the kernel below /proc.
#ifndef HT_PROC_H
#define HT_PROC_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Reads a file from its beginning, as far as there is room. Returns the number of bytes; 0 if it cannot be read.
u64 ht_read_file(const char *path, void *out, u64 size);

// Returns a number that /proc/self/status has behind a key with its colon, such as "VmHWM:"; -1 if it has none within
// the size of the buffer. A process of many groups has a long one.
i64 ht_status_number(const char *key, void *buffer, u64 size);

#pragma GCC visibility pop

#endif
