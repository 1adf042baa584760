// SPDX-License-Identifier: Apache-2.0
//
// base.h: types and macros for all of the agent's files, and the rules that they keep.
//
// The agent runs inside malloc, in signal handlers, before main and after exit, in forked children and under every lock
// that the target may hold. So in all of these files: no stdio, no malloc, no libc function that may allocate, lock or
// set errno; raw system calls (sys.h); memory from mmap; at most 1 KiB of the target's stack. Nothing waits for another
// thread's publication, nothing aborts: trouble is counted in ht_header.counters and the target goes on.
//
// Each folder includes headers of its own and of those before it only: base, spool, unwind, record, observe, hooks
// (agent/layers_test.go). Where a folder calls one that comes after it, it declares the function itself.
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
// Keeps no frame: for what needs nothing of the stack but where its caller's begins.
#ifdef __clang__
#define HT_FRAMELESS
#else
#define HT_FRAMELESS __attribute__((optimize("omit-frame-pointer")))
#endif
// A compiler barrier: what is before it in the program stays before it for a signal handler of the same thread.
#define HT_FENCE() __asm__ volatile("" ::: "memory")

#define ht_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ht_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ht_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ht_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
