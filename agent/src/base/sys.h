// SPDX-License-Identifier: Apache-2.0
//
// sys.h: a narrow interface to the machine. Raw system calls return what the kernel returns (-errno on failure) and
// leave errno unchanged; ht_clock is the timestamp counter. One file per architecture implements it.
#ifndef HT_SYS_H
#define HT_SYS_H

#include <asm/unistd.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "base/sys_amd64.h"
#else
#error "heaptap's agent has no port to this architecture yet"
#endif

// Not 0: the program has installed seccomp filters. A call that they do not allow is not made and fails with EPERM
// (filter.h).
extern __attribute__((visibility("hidden"))) uint32_t ht_filtered;
__attribute__((visibility("hidden"), cold)) long ht_call_filtered(long n, long a, long b, long c, long d, long e,
								  long f);

// The agent's own calls. A hook that makes the program's call uses ht_syscall.
static inline __attribute__((always_inline)) long ht_call(long n, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(__atomic_load_n(&ht_filtered, __ATOMIC_ACQUIRE) != 0, 0))
		return ht_call_filtered(n, a, b, c, d, e, f);
	return ht_syscall(n, a, b, c, d, e, f);
}

#define ht_sys0(n) ht_call((n), 0, 0, 0, 0, 0, 0)
#define ht_sys1(n, a) ht_call((n), (long)(a), 0, 0, 0, 0, 0)
#define ht_sys2(n, a, b) ht_call((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define ht_sys3(n, a, b, c) ht_call((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define ht_sys4(n, a, b, c, d) ht_call((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define ht_sys5(n, a, b, c, d, e) ht_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define ht_sys6(n, a, b, c, d, e, f) ht_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
