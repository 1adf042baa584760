// SPDX-License-Identifier: Apache-2.0
//
// sys_amd64.h: system calls and the timestamp counter on x86-64.
#ifndef HT_SYS_AMD64_H
#define HT_SYS_AMD64_H

#define HT_ARCH 62 // EM_X86_64
#define HT_AUDIT_ARCH 0xc000003e // AUDIT_ARCH_X86_64, as seccomp filters see it

// A system call by the kernel's own convention (x86-64 psABI, A.2.1): number in rax, arguments in rdi rsi rdx r10 r8
// r9; rcx and r11 are destroyed. Returns -4095..-1 for an error.
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

typedef long (*ht_syscall_function)(long n, long a, long b, long c, long d, long e, long f);

// Defines ht_syscall_made, which makes every system call from one instruction. For the kernel, and so for a seccomp
// filter, the call comes from ht_syscall_made_at.
#define HT_SYSCALL_MADE \
	__asm__(".text\n" \
		"ht_syscall_made:\n" \
		"	.cfi_startproc\n" \
		"	movq %rdi, %rax\n" \
		"	movq %rsi, %rdi\n" \
		"	movq %rdx, %rsi\n" \
		"	movq %rcx, %rdx\n" \
		"	movq %r8, %r10\n" \
		"	movq %r9, %r8\n" \
		"	movq 8(%rsp), %r9\n" \
		"	syscall\n" \
		"ht_syscall_made_at:\n" \
		"	ret\n" \
		"	.cfi_endproc\n")
__attribute__((visibility("hidden"))) long ht_syscall_made(long n, long a, long b, long c, long d, long e, long f);
extern __attribute__((visibility("hidden"))) const char ht_syscall_made_at[];

// Defines name, a hook for syscall(3): prctl and seccomp go to `hooked`, everything else to the function that `real`
// points to, with registers and stack unchanged. Like libc's function, it always reads seven arguments, the last one
// from the stack.
#define HT_SYSCALL_HOOK(name, hooked, real) \
	__asm__(".text\n" \
		"	.globl " #name "\n" \
		"	.type " #name ", @function\n" #name ":\n" \
		"	.cfi_startproc\n" \
		"	cmpl $157, %edi\n" /* __NR_prctl */ \
		"	je " #hooked "\n" \
		"	cmpl $317, %edi\n" /* __NR_seccomp */ \
		"	je " #hooked "\n" \
		"	jmp *" #real "(%rip)\n" \
		"	.cfi_endproc\n" \
		"	.size " #name ", . - " #name "\n")

// Defines name, a hook that ends by jumping to the function that `real` points to, so that this function sees the
// hook's caller. If the test is not zero, or `real` is not known yet, `first` is called before, with the same
// arguments.
#define HT_TAIL_HOOK(name, test, first, real) \
	__asm__(".text\n" \
		"	.globl " #name "\n" \
		"	.type " #name ", @function\n" #name ":\n" \
		"	.cfi_startproc\n" \
		"	" test "\n" \
		"	jne 1f\n" \
		"	cmpq $0, " #real "(%rip)\n" \
		"	je 1f\n" \
		"	jmp *" #real "(%rip)\n" \
		"1:	pushq %rdi\n" \
		"	.cfi_adjust_cfa_offset 8\n" \
		"	pushq %rsi\n" \
		"	.cfi_adjust_cfa_offset 8\n" \
		"	pushq %rdx\n" \
		"	.cfi_adjust_cfa_offset 8\n" \
		"	call " #first "\n" \
		"	popq %rdx\n" \
		"	.cfi_adjust_cfa_offset -8\n" \
		"	popq %rsi\n" \
		"	.cfi_adjust_cfa_offset -8\n" \
		"	popq %rdi\n" \
		"	.cfi_adjust_cfa_offset -8\n" \
		"	xorl %eax, %eax\n" \
		"	cmpq $0, " #real "(%rip)\n" \
		"	je 2f\n" \
		"	jmp *" #real "(%rip)\n" \
		"2:	ret\n" \
		"	.cfi_endproc\n" \
		"	.size " #name ", . - " #name "\n")

// Adds in one instruction, so that a signal handler of the same thread sees it either done or not done.
static inline __attribute__((always_inline)) void ht_add_here(uint64_t *to, uint64_t n)
{
#ifdef __SANITIZE_THREAD__
	__atomic_fetch_add(to, n, __ATOMIC_RELEASE);
#else
	__asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(n));
#endif
}

// Subtracts n (1 if n is 0) in one instruction, as above. Returns whether the result is below 0.
static inline __attribute__((always_inline)) int ht_take_here(int64_t *from, uint64_t n)
{
	int less;
	__asm__ volatile("cmpq $1, %2\n\tsbbq %2, %0" : "+m"(*from), "=@ccs"(less) : "r"(n));
	return less;
}

// The timestamp counter. On every machine since about 2008 its rate is constant and it is the same on all cores.
static inline __attribute__((always_inline)) uint64_t ht_clock(void)
{
	return __builtin_ia32_rdtsc();
}

// Stores it in two halves, as the instruction returns it.
static inline __attribute__((always_inline)) void ht_clock_to(uint64_t *to)
{
	typedef uint32_t __attribute__((may_alias)) half;
	half low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	((half *)to)[0] = low;
	((half *)to)[1] = high;
}

// Prefetches the cache line at p for writing; p need not be readable. Processors without this instruction ignore it.
static inline __attribute__((always_inline)) void ht_will_write(const void *p)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

#endif
