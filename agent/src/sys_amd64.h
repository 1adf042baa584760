// SPDX-License-Identifier: Apache-2.0
//
// sys_amd64.h: system calls and the timestamp counter on x86-64.
#ifndef HT_SYS_AMD64_H
#define HT_SYS_AMD64_H

#define HT_ARCH 62 // EM_X86_64

// A system call by the kernel's own convention (x86-64 psABI, A.2.1): number in rax, arguments in rdi rsi rdx r10 r8 r9;
// rcx and r11 are destroyed. Returns -4095..-1 for an error.
static inline __attribute__((always_inline)) long ht_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

// Adds in one instruction, which a signal handler of the same thread finds done or not done.
static inline __attribute__((always_inline)) void ht_add_here(uint64_t *to, uint64_t n)
{
#ifdef __SANITIZE_THREAD__
	__atomic_fetch_add(to, n, __ATOMIC_RELEASE);
#else
	__asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(n));
#endif
}

// Takes n, or 1 if that is 0, in one instruction as above. Is less than nothing left?
static inline __attribute__((always_inline)) int ht_take_here(int64_t *from, uint64_t n)
{
	int less;
	__asm__ volatile("cmpq $1, %2\n\tsbbq %2, %0" : "+m"(*from), "=@ccs"(less) : "r"(n));
	return less;
}

// The timestamp counter. Constant-rate and the same on all cores on every machine since about 2008.
static inline __attribute__((always_inline)) uint64_t ht_clock(void)
{
	return __builtin_ia32_rdtsc();
}

// Stores it, half by half as it comes.
static inline __attribute__((always_inline)) void ht_clock_to(uint64_t *to)
{
	typedef uint32_t __attribute__((may_alias)) half;
	half low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	((half *)to)[0] = low;
	((half *)to)[1] = high;
}

// Asks for the cache line at p, which need not be readable, to be written soon. Processors that do not know this pass it over.
static inline __attribute__((always_inline)) void ht_will_write(const void *p)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

#endif
