// SPDX-License-Identifier: Apache-2.0
//
// bpf.h: what a seccomp filter answers. Pure: it reads the program and the call, and nothing else.
#ifndef HT_BPF_H
#define HT_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

// What the program (man 2 seccomp; classic BPF as the kernel's seccomp_check_filter admits it) returns for a call. A
// program that the kernel would not admit may get any answer, but none is read or run beyond its end: it is
// SECCOMP_RET_KILL_PROCESS where it cannot be known.
u32 ht_bpf_run(const struct sock_filter *code, u32 length, const struct seccomp_data *call);

#pragma GCC visibility pop

#endif
