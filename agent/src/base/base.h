// SPDX-License-Identifier: Apache-2.0
//
// base.h: types and macros for all files of the agent, and the rules that these files keep.
//
// The agent runs inside malloc, in signal handlers, before main and after exit, in forked children and under every lock
// that the target may hold. So in all of these files: no stdio, no malloc, no libc function that may allocate, lock or
// set errno; raw system calls (sys.h); memory from mmap; at most 1 KiB of the target's stack. Nothing waits for another
// thread to publish something. Nothing aborts: failures are counted in ht_header.counters, and the target continues.
//
// Each folder includes only its own headers and those of earlier folders, in this order: base, spool, unwind, record,
// observe, hooks (agent/layers_test.go checks it). A folder that calls a function of a later one declares it itself.
#ifndef HT_BASE_H
#define HT_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int64_t i64;
typedef int32_t i32;

#define ht_likely(x) __builtin_expect(!!(x), 1)
#define ht_unlikely(x) __builtin_expect(!!(x), 0)
#define HT_INLINE static inline __attribute__((always_inline))
#define HT_NOINLINE __attribute__((noinline))
#define HT_EXPORT __attribute__((visibility("default")))
#define HT_COLD __attribute__((noinline, cold))
// Compiled without a frame pointer: for functions that need no registers of their caller, only its stack pointer.
#ifdef __clang__
#define HT_FRAMELESS
#else
#define HT_FRAMELESS __attribute__((optimize("omit-frame-pointer")))
#endif
// For static data of a page and more: it lies behind all else (tools/agent.sh has the linker sort), so that what is
// small shares few pages. To touch a page for the first time may cost as much as ten system calls.
#define HT_LARGE __attribute__((section(".bss.large")))
// A compiler barrier: a signal handler of the same thread sees the stores on either side of it in program order.
#define HT_FENCE() __asm__ volatile("" ::: "memory")

#define ht_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ht_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ht_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ht_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
