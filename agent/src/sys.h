// SPDX-License-Identifier: Apache-2.0
//
// sys.h: the machine, behind a narrow door. Raw system calls return what the kernel returns (-errno on failure) and leave
// errno alone; ht_clock is the timestamp counter. One file per architecture does the work.
#ifndef HT_SYS_H
#define HT_SYS_H

#include <asm/unistd.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "sys_amd64.h"
#else
#error "heaptap's agent has no port to this architecture yet"
#endif

#define ht_sys0(n) ht_syscall((n), 0, 0, 0, 0, 0, 0)
#define ht_sys1(n, a) ht_syscall((n), (long)(a), 0, 0, 0, 0, 0)
#define ht_sys2(n, a, b) ht_syscall((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define ht_sys3(n, a, b, c) ht_syscall((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define ht_sys4(n, a, b, c, d) ht_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define ht_sys5(n, a, b, c, d, e) ht_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define ht_sys6(n, a, b, c, d, e, f) ht_syscall((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
