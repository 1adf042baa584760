// SPDX-License-Identifier: Apache-2.0
//
// test_frames.c: tests frames that compilers seldom make: canonical frame addresses in other registers, registers saved
// in unusual places, code without call frame information, very deep stacks, a forked child.

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/unwind/memo.h"
#include "check.h"
#include "fake.h"
#include "../src/unwind/cct.h"
#include "../src/unwind/frames.h"
#include "../src/unwind/rules.h"

typedef void (*function)(void);

// Each calls its first argument, and does what compilers' functions seldom do.
void cfa_in_rbx(function);
void cfa_in_r12(function);
void cfa_loaded_from_r13(function);
void rbp_in_rbx(function);
void rbp_far(function);
void return_address_in_r14(function);
void realigned_at_two_depths(function);
__asm__(".text\n"
	// As _dl_runtime_resolve does: a frame realigned by hand.
	".type cfa_in_rbx, @function\ncfa_in_rbx:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"and $-64, %rsp\nsub $256, %rsp\n"
	"call *%rdi\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"

	".type cfa_in_r12, @function\ncfa_in_r12:\n.cfi_startproc\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"mov %rsp, %r12\n.cfi_def_cfa_register %r12\n"
	"sub $72, %rsp\nand $-32, %rsp\n"
	"call *%rdi\n"
	"mov %r12, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\nret\n.cfi_endproc\n"

	// The CFA is kept in memory that r13 points at: DW_OP_breg13 0, DW_OP_deref.
	".type cfa_loaded_from_r13, @function\ncfa_loaded_from_r13:\n.cfi_startproc\n"
	"lea 8(%rsp), %rax\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"sub $32, %rsp\n.cfi_adjust_cfa_offset 32\n"
	"mov %rax, 8(%rsp)\nlea 8(%rsp), %r13\n"
	".cfi_escape 0x0f, 0x03, 0x7d, 0x00, 0x06\n"
	"call *%rdi\n"
	".cfi_def_cfa %rsp, 48\n"
	"add $32, %rsp\n.cfi_adjust_cfa_offset -32\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\nret\n.cfi_endproc\n"

	// rbp lives in rbx meanwhile.
	".type rbp_in_rbx, @function\nrbp_in_rbx:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"mov %rbp, %rbx\n.cfi_register %rbp, %rbx\n"
	"mov $12345, %ebp\n"
	"call *%rdi\n"
	"mov %rbx, %rbp\n.cfi_restore %rbp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"

	// rbp is saved further from the CFA than a packed rule can say.
	".type rbp_far, @function\nrbp_far:\n.cfi_startproc\n"
	"sub $20008, %rsp\n.cfi_adjust_cfa_offset 20008\n"
	"mov %rbp, 8(%rsp)\n.cfi_rel_offset %rbp, 8\n"
	"mov $777, %ebp\n"
	"call *%rdi\n"
	"mov 8(%rsp), %rbp\n.cfi_restore %rbp\n"
	"add $20008, %rsp\n.cfi_adjust_cfa_offset -20008\nret\n.cfi_endproc\n"

	".type return_address_in_r14, @function\nreturn_address_in_r14:\n.cfi_startproc\n"
	"mov (%rsp), %rax\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"mov %rax, %r14\n.cfi_register %rip, %r14\n"
	"movq $0, 8(%rsp)\n"
	"call *%rdi\n"
	"mov %r14, 8(%rsp)\n.cfi_offset %rip, -8\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\nret\n.cfi_endproc\n"

	// A frame realigned as GCC does: its CFA is kept at rbp-8.
	".type realigned, @function\nrealigned:\n.cfi_startproc\n"
	"lea 8(%rsp), %r10\n.cfi_def_cfa %r10, 0\n"
	"and $-64, %rsp\npush -8(%r10)\npush %rbp\n"
	".cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n" // rbp at rbp+0
	"mov %rsp, %rbp\npush %r10\n"
	".cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06\n" // the CFA: rbp-8, dereferenced
	"sub $8, %rsp\n"
	"call *%rdi\n"
	"mov -8(%rbp), %r10\n.cfi_def_cfa %r10, 0\n"
	"leave\nlea -8(%r10), %rsp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"

	// Calls it from two depths that alignment makes one: the second frame has the first one's place, and the first
	// one's return address still lies on the stack. Only the CFA at rbp-8 differs.
	".type realigned_at_two_depths, @function\nrealigned_at_two_depths:\n.cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"push %rbx\n.cfi_offset %rbx, -24\n"
	"mov %rdi, %rbx\n"
	"and $-64, %rsp\nsub $16, %rsp\n"
	"call realigned\n"
	"sub $16, %rsp\nmov %rbx, %rdi\n"
	"call realigned\n"
	"mov -8(%rbp), %rbx\n.cfi_restore %rbx\n"
	"leave\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n");

static void (*const odd[])(function) = {cfa_in_rbx,
					cfa_in_r12,
					cfa_loaded_from_r13,
					rbp_in_rbx,
					rbp_far,
					return_address_in_r14,
					realigned_at_two_depths};
#define ODD (sizeof(odd) / sizeof(*odd))

static u32 random_state = 1;
static u32 rnd(void)
{
	return random_state = random_state * 1664525 + 1013904223;
}

static volatile int sink;
static int depth_left;

static void next(void);

__attribute__((noinline)) static void ordinary(void)
{
	volatile char room[40];
	room[0] = 1;
	next();
	sink += room[0];
}

// Uses all call-preserved registers, so that they must be saved on the stack.
__attribute__((noinline)) static void greedy(int a, int b, int c, int d, int e, int f)
{
	int v = a * b, w = c * d, x = e * f, y = a ^ f, z = b ^ e;
	next();
	next();
	sink += a + b + c + d + e + f + v + w + x + y + z;
}

static void next(void)
{
	if (depth_left <= 0 || rnd() >> 28 == 0) {
		check_event();
		return;
	}
	depth_left--;
	u32 what = rnd() >> 16;
	if (what & 1)
		odd[(what >> 4) % ODD](next);
	else if (what & 2)
		ordinary();
	else
		greedy(1, 2, 3, (int)what, 5, 6);
	depth_left++;
	if (rnd() >> 30 == 0)
		check_event();
}

// ---------------------------------------------------------------------------------------------------------------------

static struct ht_memo memo;
static u32 last;
static u64 last_pc, last_sp;

__attribute__((noinline)) static void event(void)
{
	u64 *frame = __builtin_frame_address(0);
	last_pc = frame[1];
	last_sp = (u64)(frame + 2);
	last = ht_capture(&memo, last_pc, last_sp, frame[0]);
	__asm__ volatile("" ::: "memory");
}

static void event_in_odd_frame(void)
{
	cfa_in_rbx(event);
}

static u32 depth_of(u32 node)
{
	u32 n = 0;
	for (; node; node = ht_nodes[node].parent)
		n++;
	return n;
}

__attribute__((noinline)) static void deep(int n)
{
	volatile char room[8];
	room[0] = 1;
	if (n == 0)
		event();
	else
		deep(n - 1);
	sink += room[0];
}

static int deep_failed;
static void *deep_thread(void *arg)
{
	static const int depths[] = {10, 1000, 100000, 1000, 400000, 10, 1000000};
	(void)arg;
	memset(&memo, 0, sizeof(memo));
	deep(0);
	u32 base = depth_of(last);
	for (u32 i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		deep(depths[i]);
		if (depth_of(last) != base + (u32)depths[i]) {
			deep_failed = 1;
			printf("deep: %d calls, %u frames\n", depths[i], depth_of(last) - base);
		}
	}
	u64 cut = ht_header->counters[HT_C_TRUNCATED];
	deep(1200000); // more than can be remembered
	if (ht_header->counters[HT_C_TRUNCATED] != cut + 1) {
		deep_failed = 1;
		printf("deep: a stack of 1,200,000 frames is not truncated\n");
	}
	ht_header->counters[HT_C_TRUNCATED] = cut;
	ht_memo_free(&memo);
	return 0;
}

static int test_deep(void)
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 1ul << 30);
	pthread_create(&t, &a, deep_thread, 0);
	pthread_join(t, 0);
	printf("deep stacks%*s%s\n", 18, "", deep_failed ? "FAILED" : "ok");
	return deep_failed;
}

// push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret: code that a JIT compiler might make.
__attribute__((noinline)) static int test_generated(void)
{
	static const u8 code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	u8 *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof(code));
	event();
	u32 base = depth_of(last), here = last, failed = 0;
	for (int i = 0; i < 3; i++) {
		((void (*)(function))p)(event);
		// event's caller is the generated code, called from here.
		if (last_pc != (u64)p + 6 || depth_of(last) != base + 1 ||
		    ht_nodes[ht_nodes[last].parent].parent != ht_nodes[here].parent)
			failed = 1;
	}
	if (ht_pcs[ht_nodes[last].pc].module != 0 || ht_header->counters[HT_C_GUESSED] == 0)
		failed = 1;
	printf("generated code%*s%s\n", 15, "", failed ? "FAILED" : "ok");
	munmap(p, 4096);
	return (int)failed;
}

// sub $24, %rsp; call *%rdi; add $24, %rsp; ret: without its call frame information, which its compiler registers only
// after the code has run, its caller can only be guessed.
__attribute__((noinline)) static int test_registered(void)
{
	static const u8 code[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3};
	struct __attribute__((packed)) {
		u32 cie_size, cie_id;
		u8 version, augmentation[3], align, data_align, ra, size, encoding, rules[7];
		u32 fde_size, cie_at;
		u64 begin, range;
		u8 none, moves[9];
		u32 end;
	} section = {20, 0,
		     1,	 "zR",
		     1,	 0x78,
		     16, 1,
		     0,	 {0x0c, 7, 8, 0x90, 1, 0, 0},
		     30, 28,
		     0,	 sizeof(code),
		     0,	 {0x44, 0x0e, 32, 0x46, 0x0e, 8, 0, 0, 0},
		     0};
	u8 *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = 0;
	memcpy(p, code, sizeof(code));
	section.begin = (u64)p;
	section.cie_size = (u32)((u8 *)&section.fde_size - (u8 *)&section.cie_id);
	section.fde_size = (u32)((u8 *)&section.end - (u8 *)&section.cie_at);
	section.cie_at = (u32)((u8 *)&section.cie_at - (u8 *)&section);
	event();
	u32 here = last;
	for (int i = 0; i < 3; i++) {
		((void (*)(function))p)(event);
		if (i == 0)
			ht_frames_add((u64)&section);
		else // event's caller is the generated code, called from here
			failed |= last_pc != (u64)p + 6 || depth_of(last) != depth_of(here) + 1 ||
				  ht_nodes[ht_nodes[last].parent].parent != ht_nodes[here].parent;
	}
	ht_frames_remove((u64)&section);
	printf("code registered later%*s%s\n", 9, "", failed ? "FAILED" : "ok");
	munmap(p, 4096);
	return failed;
}

// A function that is interrupted right before it returns, on a stack of its own. Where its caller's rbp was saved is by
// now below the stack pointer, and in another page.
void interrupted_at_return(void);
void interrupted(void);
void on_stack(function, u8 *sp);
__asm__(".text\n"
	".type interrupted_at_return, @function\ninterrupted_at_return:\n.cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	".type interrupted, @function\ninterrupted:\n" // with the same information here
	"int3\nret\n.cfi_endproc\n"

	".type on_stack, @function\non_stack:\n.cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"mov %rsi, %rsp\ncall *%rdi\n"
	"leave\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\nret\n.cfi_endproc\n");

static void on_trap(int signal)
{
	(void)signal;
	check_event();
}

static int test_interrupted(void)
{
	static u8 handler_stack[1 << 16];
	stack_t s = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction a = {.sa_handler = on_trap, .sa_flags = SA_ONSTACK};
	u8 *p = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long before = check_mismatches, events = check_events;

	sigaltstack(&s, 0);
	sigaction(SIGTRAP, &a, 0);
	for (int at = -16; at <= 256;
	     at += 8) // the first time, the bounds of the stack are found; later they are known
		on_stack(interrupted_at_return, p + 8192 + 8 + at);
	munmap(p, 8192);
	on_stack(interrupted, p + 8192 + 256 + 8);
	on_stack(interrupted, p + 8192 + 16 + 8); // nothing may be mapped below it
	int failed = check_mismatches != before || check_events != events + 37;
	printf("interrupted at its return%*s%s\n", 5, "", failed ? "FAILED" : "ok");
	munmap(p, 4 * 4096);
	return failed;
}

static int test_fork(void)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		ht_process = 1;
		ht_tables_after_fork();
		ht_state->generation += 1000;
		for (int i = 0; i < 200; i++) {
			depth_left = 15;
			next();
		}
		_exit(check_mismatches != 0 || check_events < 200);
	}
	waitpid(child, &status, 0);
	printf("a forked child%*s%s\n", 15, "", status ? "FAILED" : "ok");
	return status != 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// Bytes of the target's stack that an event uses, including the very first event.

#define PAINT 0x5a5a5a5a5a5a5a5aull

__attribute__((noinline)) static void paint(void)
{
	volatile u64 area[2048];
	for (u32 i = 0; i < 2048; i++)
		area[i] = PAINT;
	__asm__ volatile("" : : "r"(area) : "memory");
}

// The lowest address that was overwritten.
__attribute__((noinline)) static u64 painted_until(void)
{
	volatile u64 area[2048];
	u32 i = 0;
	__asm__ volatile("" : : "r"(area) : "memory"); // measures how much was overwritten
	while (i < 2048 && area[i] == PAINT)
		i++;
	return (u64)(area + i);
}

// Bytes below the caller of event(), so that the padding of its frame does not count.
__attribute__((noinline)) static u32 stack_used(void (*f)(void))
{
	paint();
	f();
	return (u32)(last_sp - painted_until());
}

static int test_stack_use(void)
{
	static struct ht_memo fresh;
	memo = fresh;
	u32 used[5] = {0};
	for (u32 i = 0; i < 5; i++) {
		// The very first event; one that finds the memo; one without rules; one that needs all registers; one
		// that compares them.
		if (i == 2) {
			ht_memo_forget(&memo);
			memo.low = memo.high = 0;
			ht_rules_drop(0, ~0ull, 0);
		}
		used[i] = stack_used(i >= 3 ? event_in_odd_frame : event);
	}
	int failed = used[0] > 1024 || used[1] > 512 || used[2] > 1024 || used[3] > 1024 || used[4] > 1024;
	printf("stack use%*s%u %u %u %u %u bytes: %s\n", 20, "", used[0], used[1], used[2], used[3], used[4],
	       failed ? "FAILED" : "ok");
	ht_memo_free(&memo);
	return failed;
}

// 0 is the hash of free entries: a stack with that hash gets no node, and a stack called from it gets one of its own.
static int test_no_hash(void)
{
	u32 none = ht_cct_insert(0, 0, 1), node = ht_cct_insert(1, 0, 2);
	int failed = none || !node || ht_nodes[node].pc != 2 || ht_cct_find(0) || ht_cct_find(1) != node;
	printf("a stack with hash 0           %s\n", failed ? "FAILED" : "ok");
	return failed;
}

int main(void)
{
	check_start();
	int used = test_stack_use();
	for (int i = 0; i < 3000; i++) {
		depth_left = 12;
		next();
	}
	int failed = used | check_report("odd frames", 3000);
	failed |= test_generated();
	failed |= test_registered();
	failed |= test_interrupted();
	failed |= test_fork();
	failed |= test_deep();
	failed |= test_no_hash();
	return failed;
}
