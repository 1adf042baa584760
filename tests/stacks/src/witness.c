// SPDX-License-Identifier: Apache-2.0
//
// witness.c: agent/test's check_event for a process that is being recorded: an event allocates a block of a size of its
// own, after the stack that libgcc sees there has been appended to the file WITNESS. A record is: the size and the
// number of addresses (32 bits each; the top bit of the latter: more frames are not known), and the addresses, leaf
// first.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

long check_events, check_mismatches, check_truncated;
int check_lenient;
__thread int check_level;
const void *check_start_context;
static __thread struct check_known *known;
static int file = -1;

extern const char after_malloc[] __attribute__((visibility("hidden")));
// The stack that witness() sees and that of malloc differ in one return address: both are called from here.
__asm__(".text\n.globl check_event\n.type check_event, @function\n"
	"check_event:\n.cfi_startproc\n"
	"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"call witness\n"
	"mov %rax, %rdi\ncall malloc@PLT\n"
	".hidden after_malloc\n.globl after_malloc\nafter_malloc:\n"
	"mov %rax, %rdi\ncall free@PLT\n"
	"add $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size check_event, .-check_event\n");

struct record {
	uint32_t size, count;
	uint64_t pcs[TRACE_MAX];
};

__attribute__((used, noinline)) size_t witness(void)
{
	static __thread struct record r;
	struct trace t = {r.pcs, 0, 1};
	trace_from(&t, (uint64_t)__builtin_return_address(0), known);
	memmove(r.pcs, t.pcs, t.count * 8);
	r.pcs[0] = (uint64_t)after_malloc;
	r.size = (uint32_t)__atomic_add_fetch(&check_events, 1, __ATOMIC_RELAXED);
	r.count = t.count | (t.exact ? 0 : 1u << 31);
	if (write(file, &r, 8 + t.count * 8) < 0)
		abort();
	return r.size;
}

__attribute__((noinline)) void check_remember(struct check_known *k, const char *after)
{
	static __thread uint64_t pcs[TRACE_MAX];
	struct trace t = {pcs, 0, 1};
	trace_from(&t, (uint64_t)__builtin_return_address(0), known);
	t.pcs[0] = (uint64_t)after;
	for (unsigned i = 0; i < t.count && k->count < sizeof(k->pcs) / sizeof(*k->pcs); i++)
		k->pcs[k->count++] = t.pcs[i];
	k->exact &= t.exact;
	k->outer = known;
	known = k;
}

void check_forget(void)
{
	known = known->outer;
}

void check_start(void)
{
	file = open(getenv("WITNESS"), O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (file < 0)
		abort();
}

int check_report(const char *name, long at_least)
{
	printf("%s %ld\n", name, check_events);
	return check_events < at_least;
}
