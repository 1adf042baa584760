// SPDX-License-Identifier: Apache-2.0
//
// arch_amd64.h: what the unwinder needs to know about x86-64. Register numbers are those of DWARF (psABI, figure 3.36).
#ifndef HT_ARCH_AMD64_H
#define HT_ARCH_AMD64_H

#include <emmintrin.h>

#include "base/base.h"
#include "base/local.h"

#define HT_REGS 17
#define HT_REG_FP 6 // rbp
#define HT_REG_SP 7 // rsp
#define HT_REG_PC 16 // the return address column
#define HT_RED_ZONE 128 // bytes below the stack pointer that the function may use (psABI, 3.2.2)

// Where the kernel keeps the interrupted registers: uc_mcontext.gregs in the ucontext_t that lies at the stack pointer
// of the signal trampoline (struct sigcontext in the kernel's asm/sigcontext.h).
#define HT_UCONTEXT_REGS 40
#define HT_UCONTEXT_SIZE (HT_UCONTEXT_REGS + 17 * 8)
#define HT_UCONTEXT_FP (HT_UCONTEXT_REGS + 10 * 8)
#define HT_UCONTEXT_SP (HT_UCONTEXT_REGS + 15 * 8)
#define HT_UCONTEXT_PC (HT_UCONTEXT_REGS + 16 * 8)

// The registers in the order of gregs: r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
static const u8 ht_ucontext_order[HT_REGS] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};

// rt_sigreturn: mov $15, %rax (or %eax); syscall. The only thing that a signal handler returns to.
HT_INLINE int ht_is_trampoline(const u8 *code)
{
	static const u8 wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const u8 narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	return __builtin_memcmp(code, wide, sizeof(wide)) == 0 || __builtin_memcmp(code, narrow, sizeof(narrow)) == 0;
}
#define HT_TRAMPOLINE_SIZE 9

// The call-preserved registers, read at one instruction of the function that this is inlined into.
HT_INLINE void ht_registers_here(u64 regs[HT_REGS])
{
	__builtin_memset(regs, 0, HT_REGS * 8);
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 0f(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)\n"
			 "0:"
			 :
			 : "r"(regs)
			 : "rax", "memory");
}

// Reads ht_local.thread again after a call. Otherwise the compiler keeps its address in a register, and saving that
// register costs more than finding the address again.
HT_INLINE struct ht_thread *ht_thread_again(void)
{
	struct ht_thread *t;
	__asm__ volatile("movq ht_local@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(t));
	return t;
}

HT_INLINE u64 ht_thread_pointer(void)
{
	u64 tp;
	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

// Replaces 16 aligned bytes if they are still `old`. Returns whether they were.
HT_INLINE int ht_swap_two(void *at, const void *old, const void *new)
{
	u64 was[2], next[2];
	int same;
	__builtin_memcpy(was, old, 16);
	__builtin_memcpy(next, new, 16);
	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(same), "+m"(*(u64(*)[2])at), "+a"(was[0]), "+d"(was[1])
			 : "b"(next[0]), "c"(next[1])
			 : "memory");
	return same;
}

// Two words, compared at once.
typedef __m128i ht_two;
HT_INLINE ht_two ht_two_at(const u64 *a, const u64 *b)
{
	return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)a)), (const double *)b));
}
HT_INLINE ht_two ht_two_of(const u64 aligned[2])
{
	return *(const ht_two *)aligned;
}
HT_INLINE ht_two ht_two_zero(void)
{
	return _mm_setzero_si128();
}
HT_INLINE ht_two ht_two_xor(ht_two a, ht_two b)
{
	return _mm_xor_si128(a, b);
}
HT_INLINE ht_two ht_two_or(ht_two a, ht_two b)
{
	return _mm_or_si128(a, b);
}
HT_INLINE int ht_two_are_zero(ht_two a)
{
	return _mm_movemask_epi8(_mm_cmpeq_epi32(a, _mm_setzero_si128())) == 0xffff;
}

#endif
