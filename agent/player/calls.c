// SPDX-License-Identifier: Apache-2.0
//
// A seccomp filter turns these calls into SIGSYS, whose handler counts them and makes the call itself, from an
// instruction that the filter lets pass. A thread that blocks all signals would be killed: libc does so only while a
// thread starts or ends, and makes none of these calls then if the stack is the caller's own.

#define _GNU_SOURCE
#include "calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static u64 *counted;
static int off;

// The only place from which the calls pass; the label is behind the instruction.
long heaptap_call(long number, long a, long b, long c, long d, long e, long f);
extern const char heaptap_called[];
__asm__(".text\n"
	".hidden heaptap_call\n.hidden heaptap_called\n"
	".globl heaptap_call\n.type heaptap_call, @function\n"
	"heaptap_call:\n"
	"mov %rdi, %rax\n"
	"mov %rsi, %rdi\n"
	"mov %rdx, %rsi\n"
	"mov %rcx, %rdx\n"
	"mov %r8, %r10\n"
	"mov %r9, %r8\n"
	"mov 8(%rsp), %r9\n"
	"syscall\n"
	".globl heaptap_called\n"
	"heaptap_called:\n"
	"ret\n"
	".size heaptap_call, . - heaptap_call\n");

static void on_call(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	int saved = errno;
	long number = info->si_syscall;
	if (number >= 0 && number < 512 && !__atomic_load_n(&off, __ATOMIC_RELAXED))
		__atomic_fetch_add(&counted[number], 1, __ATOMIC_RELAXED);
	r[REG_RAX] = heaptap_call(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
	errno = saved;
}

int count_calls(u64 *counts)
{
	static const int numbers[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_mprotect};
	enum { N = sizeof numbers / sizeof *numbers };
	u64 from = (u64)heaptap_called;
	struct sock_filter f[N + 8];
	unsigned n = 0;
#define FIELD(x) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, x))
	f[n++] = (struct sock_filter)FIELD(nr);
	for (unsigned i = 0; i < N; i++) // to the test of where the call is made
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], (u8)(N - i), 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)FIELD(instruction_pointer);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)from, 0, 3);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      (unsigned)offsetof(struct seccomp_data, instruction_pointer) + 4);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(from >> 32), 0, 1);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	struct sock_fprog program = {(unsigned short)n, f};
	struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
	counted = counts;
	if (sigaction(SIGSYS, &action, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void count_no_more(void)
{
	__atomic_store_n(&off, 1, __ATOMIC_RELAXED);
}
