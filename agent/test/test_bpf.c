// SPDX-License-Identifier: Apache-2.0
//
// test_bpf.c: tests the evaluator of seccomp filters (src/base/bpf.c).
//
//   test_bpf cases          programs whose answer is known
//   test_bpf fuzz SECONDS   random bytes: nothing outside of the program is read, and evaluation ends; build it with
//                           sanitizers
//   test_bpf judge N        N random programs, each installed in a forked child: kernel and evaluator must agree
//
// A judged program ends with the accumulator as an error number, or with an action. The child calls getppid, which
// takes no arguments, with arguments that the program reads.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/base/bpf.h"

static u64 seed = 1;

static u32 draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 32);
}

static u32 number(void)
{
	static const u32 known[] = {
		0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, SYS_getppid, AUDIT_ARCH_X86_64};
	return draw() & 1 ? known[draw() % (sizeof(known) / sizeof(*known))] : draw() >> (draw() & 31);
}

// ---------------------------------------------------------------------------------------------------------------------

#define K(op, k) \
	{ \
		(op), 0, 0, (k) \
	}
#define J(op, k, yes, no) \
	{ \
		BPF_JMP | (op) | BPF_K, (yes), (no), (k) \
	}
#define RET(k) K(BPF_RET | BPF_K, (k))
#define RET_A K(BPF_RET | BPF_A, 0)
#define LOAD(at) K(BPF_LD | BPF_W | BPF_ABS, (at))

static int cases(void)
{
	static const struct seccomp_data call = {
		39, AUDIT_ARCH_X86_64, 0x7f0011223344, {0x1122334455667788, 7, 0, 0, 0, 9}};
	static const struct {
		const char *name;
		u32 answer;
		struct sock_filter code[8];
	} list[] = {
		{"constant", 5, {RET(5)}},
		{"number", 39, {LOAD(0), RET_A}},
		{"architecture", AUDIT_ARCH_X86_64, {LOAD(4), RET_A}},
		{"instruction pointer", 0x11223344, {LOAD(8), RET_A}},
		{"low half of an argument", 0x55667788, {LOAD(16), RET_A}},
		{"high half of an argument", 0x11223344, {LOAD(20), RET_A}},
		{"last argument", 9, {LOAD(56), RET_A}},
		{"length", 64, {K(BPF_LD | BPF_W | BPF_LEN, 0), RET_A}},
		{"jump if equal", 1, {LOAD(0), J(BPF_JEQ, 39, 1, 0), RET(2), RET(1)}},
		{"jump if set", 2, {LOAD(0), J(BPF_JSET, 8, 1, 0), RET(2), RET(1)}},
		{"jump if greater", 2, {LOAD(0), J(BPF_JGT, 39, 1, 0), RET(2), RET(1)}},
		{"jump if not less", 1, {LOAD(0), J(BPF_JGE, 39, 1, 0), RET(2), RET(1)}},
		{"jump", 3, {K(BPF_JMP | BPF_JA, 1), RET(2), RET(3)}},
		{"memory",
		 39,
		 {LOAD(0), K(BPF_ST, 3), K(BPF_LD | BPF_IMM, 1), K(BPF_LDX | BPF_MEM, 3), K(BPF_MISC | BPF_TXA, 0),
		  RET_A}},
		{"division by 0", 0, {LOAD(0), K(BPF_LDX | BPF_IMM, 0), K(BPF_ALU | BPF_DIV | BPF_X, 0), RET(7)}},
		{"shift by too much", 78, {LOAD(0), K(BPF_LDX | BPF_IMM, 33), K(BPF_ALU | BPF_LSH | BPF_X, 0), RET_A}},
		{"negation", (u32)-39, {LOAD(0), K(BPF_ALU | BPF_NEG, 0), RET_A}},
		{"no end",
		 SECCOMP_RET_KILL_PROCESS,
		 {LOAD(0), LOAD(0), LOAD(0), LOAD(0), LOAD(0), LOAD(0), LOAD(0), LOAD(0)}},
		{"jump out", SECCOMP_RET_KILL_PROCESS, {K(BPF_JMP | BPF_JA, 0xffffffff), RET(1)}},
		{"load out", SECCOMP_RET_KILL_PROCESS, {LOAD(61), RET(1)}},
		{"store out", SECCOMP_RET_KILL_PROCESS, {K(BPF_ST, 16), RET(1)}},
	};
	int failed = 0;
	for (u32 i = 0; i < sizeof(list) / sizeof(*list); i++) {
		u32 answer = ht_bpf_run(list[i].code, 8, &call);
		if (answer != list[i].answer) {
			printf("%s: %#x, expected %#x\n", list[i].name, answer, list[i].answer);
			failed = 1;
		}
	}
	return failed;
}

// ---------------------------------------------------------------------------------------------------------------------

static int fuzz(int seconds)
{
	time_t end = time(0) + seconds;
	u64 runs = 0;
	seed = (u64)end;
	while (time(0) < end) {
		u32 length = draw() % 300;
		struct sock_filter *code =
			malloc(length * sizeof(*code)); // of that size, so that a sanitizer sees what is outside
		struct seccomp_data call;
		for (u32 i = 0; i < length; i++) {
			u32 sparse = draw() & 1; // all bits of a code, or only meaningful ones
			code[i] = (struct sock_filter){(u16)(sparse ? draw() & 0xf7 : draw()), (u8)draw(), (u8)draw(),
						       number()};
		}
		for (u32 i = 0; i < sizeof(call); i += 4)
			((u32 *)&call)[i / 4] = number();
		ht_bpf_run(code, length, &call);
		free(code);
		runs++;
	}
	printf("bpf: %llu random programs\n", (unsigned long long)runs);
	return 0;
}

// ---------------------------------------------------------------------------------------------------------------------

#define BODY 40
#define PROBES 20

// Makes a program that the kernel accepts, and under which a child can always exit. Returns its length.
static u32 make(struct sock_filter *code)
{
	static const u16 operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					 BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
	static const u16 jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	u32 n = 0, first;
	code[n++] = (struct sock_filter)LOAD(0);
	code[n++] = (struct sock_filter)J(BPF_JEQ, SYS_getppid, 1, 0);
	code[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
	for (u32 i = 0; i < BPF_MEMWORDS; i++) // the kernel accepts no load of a word that was not stored
		code[n++] = (struct sock_filter)K(draw() & 1 ? BPF_ST : BPF_STX, i);
	first = n;
	while (n < first + BODY) {
		u32 left = first + BODY - n - 1, way = draw() % 10, source = draw() & 1 ? BPF_X : BPF_K;
		struct sock_filter i = {0, 0, 0, 0};
		if (way < 3) {
			i = (struct sock_filter)LOAD(draw() % 16 * 4);
		} else if (way < 6) {
			u32 op = operations[draw() % 10];
			i = (struct sock_filter)K((u16)(BPF_ALU | op | source), number());
			if (op == BPF_NEG)
				i.code = BPF_ALU | BPF_NEG, i.k = 0;
			if ((op == BPF_LSH || op == BPF_RSH) && source == BPF_K)
				i.k &= 31;
			if (op == BPF_DIV && source == BPF_K)
				i.k |= 1;
			if (source == BPF_X)
				i.k = 0;
		} else if (way == 6) {
			i = (struct sock_filter)K((u16)(draw() & 1 ? BPF_MISC | BPF_TAX : BPF_MISC | BPF_TXA), 0);
		} else if (way == 7) {
			static const u16 moves[] = {BPF_ST, BPF_STX, BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM};
			i = (struct sock_filter)K(moves[draw() & 3], draw() % BPF_MEMWORDS);
		} else if (way == 8) {
			static const u16 loads[] = {BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM, BPF_LD | BPF_W | BPF_LEN,
						    BPF_LDX | BPF_W | BPF_LEN};
			i = (struct sock_filter)K(loads[draw() & 3], number());
		} else {
			i = (struct sock_filter){(u16)(BPF_JMP | jumps[draw() & 3] | source), (u8)(draw() % (left + 1)),
						 (u8)(draw() % (left + 1)), source == BPF_K ? number() : 0};
		}
		code[n++] = i;
	}
	if (draw() & 3) { // as an error number with many bits of the accumulator
		code[n++] = (struct sock_filter)K(BPF_ALU | BPF_AND | BPF_K, 0xfff);
		code[n++] = (struct sock_filter)K(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO);
		code[n++] = (struct sock_filter)RET_A;
	} else {
		static const u32 actions[] = {
			SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_TRACE,
			SECCOMP_RET_ALLOW,	  SECCOMP_RET_LOG,	   0x12340000,	     SECCOMP_RET_ERRNO | 7};
		code[n++] = (struct sock_filter)RET(actions[draw() & 7]);
	}
	return n;
}

static long expected(const struct sock_filter *code, u32 length, const struct seccomp_data *call, long parent)
{
	u32 answer = ht_bpf_run(code, length, call), data = answer & SECCOMP_RET_DATA;
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return parent;
	case SECCOMP_RET_ERRNO:
		return -(long)(data < 4095 ? data : 4095);
	case SECCOMP_RET_TRACE: // nobody traces
		return -ENOSYS;
	}
	return -9999; // a signal
}

extern const char judged_at[]; // the address that the kernel sees

__attribute__((noinline, noclone)) static long call_kernel(const __u64 *a)
{
	register long r10 __asm__("r10") = (long)a[3];
	register long r8 __asm__("r8") = (long)a[4];
	register long r9 __asm__("r9") = (long)a[5];
	long result;
	__asm__ volatile("syscall\njudged_at:"
			 : "=a"(result)
			 : "a"(SYS_getppid), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static int judge(u32 programs)
{
	struct shared {
		u32 done;
		long results[PROBES];
	} *shared = mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u32 failed = 0, killed = 0, compared = 0;
	for (u32 i = 0; i < programs && failed < 10; i++) {
		struct sock_filter code[128];
		struct seccomp_data calls[PROBES];
		u32 length = make(code);
		for (u32 j = 0; j < PROBES; j++) {
			calls[j] = (struct seccomp_data){SYS_getppid, AUDIT_ARCH_X86_64, 0, {0}};
			for (u32 k = 0; k < 6; k++)
				calls[j].args[k] = (u64)number() << 32 | number();
		}
		shared->done = 0;
		pid_t child = fork();
		if (child == 0) {
			struct sock_fprog p = {(u16)length, code};
			struct rlimit none = {0, 0};
			setrlimit(RLIMIT_CORE, &none);
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != 0)
				_exit(9);
			for (u32 j = 0; j < PROBES; j++) {
				shared->results[j] = call_kernel(calls[j].args);
				shared->done = j + 1;
			}
			_exit(0);
		}
		int status;
		waitpid(child, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 9) {
			printf("program %u: the kernel does not admit it\n", i);
			failed++;
			continue;
		}
		for (u32 j = 0; j <= shared->done && j < PROBES; j++) {
			long result = j < shared->done ? shared->results[j] : -9999;
			calls[j].instruction_pointer = (u64)judged_at;
			long wanted = expected(code, length, &calls[j], getpid());
			compared++;
			killed += result == -9999;
			if (result != wanted) {
				printf("program %u, probe %u: the kernel says %ld, the evaluator %ld\n", i, j, result,
				       wanted);
				failed++;
				break;
			}
		}
	}
	printf("bpf: %u programs, %u calls compared with the kernel, %u of them fatal\n", programs, compared, killed);
	return failed != 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "cases"))
		return cases();
	if (argc == 3 && !strcmp(argv[1], "fuzz"))
		return fuzz(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "judge"))
		return judge((u32)atoi(argv[2]));
	return 2;
}
