// SPDX-License-Identifier: Apache-2.0
//
// bpf.h: evaluates a seccomp filter. Pure: it reads only the program and the call.
#ifndef HT_BPF_H
#define HT_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

// Returns what the program (man 2 seccomp; classic BPF that the kernel's seccomp_check_filter accepts) returns for a
// call. For a program that the kernel would reject the result means nothing, but nothing beyond the program's end is
// read or run. Returns SECCOMP_RET_KILL_PROCESS if the result cannot be determined.
u32 ht_bpf_run(const struct sock_filter *code, u32 length, const struct seccomp_data *call);

#pragma GCC visibility pop

#endif
