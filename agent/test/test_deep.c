// SPDX-License-Identifier: Apache-2.0
//
// test_deep.c: measures recursion that allocates at every level, at depths at which not all of the stack is compared at
// each event. test_switch.c checks that the stacks are right.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "../src/unwind/deep.h"
#include "check.h"
#include "fake.h"

#define NI __attribute__((noinline, noclone))

static struct ht_memo memo;
static u32 last;
static volatile int sink;
static int failed;

NI static void event(void)
{
	const u64 *frame = __builtin_frame_address(0);
	last = ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
	__asm__ volatile("" ::: "memory");
}

static u32 depth_of(u32 node)
{
	u32 n = 0;
	for (; node; node = ht_nodes[node].parent)
		n++;
	return n;
}

// ---------------------------------------------------------------------------------------------------------------------
// Cost

NI static void down(int n)
{
	event();
	if (n > 1)
		down(n - 1);
	sink++;
}

static int wanted;
static void go_down(void)
{
	down(wanted);
}

// Calls its argument from a frame whose end is in rbx: see test_frames.c.
void below_rbx(void (*)(void));
__asm__(".text\n.type below_rbx, @function\nbelow_rbx:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"and $-64, %rsp\nsub $256, %rsp\n"
	"call *%rdi\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n");

static double cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void cost(const char *name, int frames, int complex, double limit)
{
	double begin = cpu_time();
	wanted = frames;
	if (complex)
		below_rbx(go_down);
	else
		go_down();
	double took = cpu_time() - begin;
	int bad = took > limit || depth_of(last) < (u32)frames || ht_deep_distrusted;
	printf("%-22s %8d frames: %.2f s%s\n", name, frames, took, bad ? " FAILED" : "");
	failed |= bad;
}

// ---------------------------------------------------------------------------------------------------------------------

// The same stack is cut beyond HT_FRAMES_MAX, at one node for each call site.
static void beyond(void)
{
	wanted = HT_FRAMES_MAX + 100000;
	double begin = cpu_time();
	u32 before = ht_header->next_node;
	go_down();
	double took = cpu_time() - begin;
	u32 nodes = ht_header->next_node - before;
	int bad = !(ht_nodes[last].pc & HT_NODE_TRUNCATED) || ht_nodes[last].parent || nodes > 2 * HT_FRAMES_MAX + 10;
	printf("%-22s %8d frames: %.2f s, %u nodes%s\n", "beyond the limit", wanted, took, nodes, bad ? " FAILED" : "");
	failed |= bad;
}

static void *run(void *unused)
{
	(void)unused;
	// A tenth of these limits is what is promised for targets, on an idle machine. A cost that grew with the square
	// of the depth would be far more.
	cost("recursion", 200000, 0, 20);
	cost("recursion", 400000, 0, 40);
	cost("below a complex frame", 200000, 1, 20);
	cost("below a complex frame", 400000, 1, 40);
	beyond();
	return 0;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	check_start();
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 1ul << 30);
	pthread_create(&t, &a, run, 0);
	pthread_join(t, 0);
	printf("deep stacks: %s\n", failed ? "FAILED" : "ok");
	return failed;
}
