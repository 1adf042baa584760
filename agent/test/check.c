// SPDX-License-Identifier: Apache-2.0
//
// check.c: captures a stack as a hook would, and compares it with _Unwind_Backtrace's. Compiled with frame pointers.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/unwind/memo.h"
#include "fake.h"
#include "trace.h"

#define LEVELS 8

long check_events, check_mismatches, check_truncated;
int check_lenient;
__thread int check_level;
static __thread struct check_known *known;
static __thread struct ht_memo memos[LEVELS] __attribute__((tls_model("initial-exec")));

static void dump(const char *who, const u64 *pcs, u32 n)
{
	fprintf(stderr, "  %s (%u):", who, n);
	for (u32 i = 0; i < n && i < 24; i++) {
		Dl_info info;
		if (dladdr((void *)pcs[i], &info) && info.dli_fname)
			fprintf(stderr, " %s!%s+%lx",
				strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : "?",
				info.dli_sname ? info.dli_sname : "", pcs[i] - (u64)info.dli_fbase);
		else
			fprintf(stderr, " %lx", pcs[i]);
	}
	fprintf(stderr, "\n");
}

// ---------------------------------------------------------------------------------------------------------------------
// Instructions for which the call frame information itself is wrong (readelf -wF shows it beside the code). libgcc
// follows it into memory that is not a stack or not mapped. There the comparison ends, and is counted by function.

static __thread sigjmp_buf *volatile out_of_trace;

static void on_fault(int signal)
{
	if (out_of_trace)
		siglongjmp(*out_of_trace, 1);
	struct sigaction a = {.sa_handler = SIG_DFL};
	sigaction(signal, &a, 0);
}

const void *check_start_context;

// The functions with known errors, in glibc 2.36 and gcc 12.
static struct {
	const char *name;
	long stacks;
} odd[] = {
	// makecontext's first frame, which was never called: it has the information of an ordinary function.
	{"__start_context", 0},
	// From loading the new stack pointer until the new return address is pushed.
	{"swapcontext", 0},
	// While it overwrites its own saved registers with those of the handler's frame.
	{"_Unwind_RaiseException", 0},
	{"_Unwind_Resume", 0},
	{"_Unwind_Resume_or_Rethrow", 0},
	{"_Unwind_ForcedUnwind", 0},
};
#define ODD (sizeof(odd) / sizeof(*odd))

// Returns the outermost frame in one of these functions, because what follows it is invalid; -1 if there is none.
static i32 find_odd(const u64 *pcs, u32 n)
{
	u64 start = (u64)check_start_context;
	for (i32 k = (i32)n - 1; k >= 0; k--) {
		Dl_info info;
		// A handler that interrupted dladdr, and called it, would wait for its lock forever.
		sigset_t all, before;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		const char *name = dladdr((void *)pcs[k], &info) ? info.dli_sname : 0;
		pthread_sigmask(SIG_SETMASK, &before, 0);
		if (start && pcs[k] - start <= 26)
			name = odd[0].name;
		for (u32 i = 0; name && i < ODD; i++)
			if (strcmp(name, odd[i].name) == 0) {
				__atomic_fetch_add(&odd[i].stacks, 1, __ATOMIC_RELAXED);
				return k;
			}
	}
	return -1;
}

// Returns 1 if a stack has a frame in one of these functions, and another stack is the same up to the outermost one.
static int same_to_odd(const u64 *pcs, u32 n, const u64 *others, u32 count)
{
	u32 same = (u32)find_odd(pcs, n) + 1;
	return same && same <= count && memcmp(pcs, others, same * 8) == 0;
}

// Returns 1 if libgcc's walk has crashed.
static int trace_or_crash(struct trace *t, u64 pc)
{
	sigjmp_buf here, *volatile outer = out_of_trace; // saved for an event that a signal has interrupted
	volatile int crashed = 0;
	if (!check_lenient) {
		trace_from(t, pc, known);
		return 0;
	}
	if (sigsetjmp(here, 0) == 0) {
		out_of_trace = &here;
		trace_from(t, pc, known);
	} else {
		crashed = 1;
		trace_trim(t, pc);
	}
	out_of_trace = outer;
	return crashed;
}

static void compare(u32 node, u64 pc)
{
	static __thread u64 all_mine[LEVELS][TRACE_MAX], all_theirs[LEVELS][TRACE_MAX];
	u64 *mine = all_mine[check_level];
	struct trace t = {all_theirs[check_level], 0, 1};
	int truncated;
	u32 n = fake_path(node, mine, TRACE_MAX, &truncated);

	__atomic_fetch_add(&check_events, 1, __ATOMIC_RELAXED);
	if (truncated)
		__atomic_fetch_add(&check_truncated, 1, __ATOMIC_RELAXED);
	int crashed = trace_or_crash(&t, pc);
	if (!crashed && (t.exact ? n == t.count && !truncated : n >= t.count) && memcmp(mine, t.pcs, t.count * 8) == 0)
		return;
	// Either walk may be the one that goes on from a wrong return address to frames of one of these functions.
	if (check_lenient && (same_to_odd(mine, n, t.pcs, t.count) || same_to_odd(t.pcs, t.count, mine, n)))
		return;
	if (__atomic_fetch_add(&check_mismatches, 1, __ATOMIC_RELAXED) < 5) {
		fprintf(stderr, "mismatch%s\n", truncated ? " (truncated)" : "");
		dump("ours", mine, n);
		dump("libgcc", t.pcs, t.count);
	}
}

__attribute__((noinline)) void check_event(void)
{
	u64 *frame = __builtin_frame_address(0);
	int level = check_level;
	u32 node;

	if (level >= LEVELS - 1)
		return;
	check_level = level + 1; // handlers that interrupt us use the next memo
	__asm__ volatile("" ::: "memory");
	node = ht_capture(&memos[level], frame[1], (u64)(frame + 2), frame[0]);
	compare(node, frame[1]);
	__asm__ volatile("" ::: "memory");
	check_level = level;
}

__attribute__((noinline)) void check_remember(struct check_known *k, const char *after)
{
	static __thread u64 pcs[TRACE_MAX];
	struct trace t = {pcs, 0, 1};
	trace_from(&t, (u64)__builtin_return_address(0), known);
	if (t.count)
		t.pcs[0] = (u64)after;
	for (u32 i = 0; i < t.count && k->count < sizeof(k->pcs) / sizeof(*k->pcs); i++)
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
	struct sigaction a = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	sigaction(SIGSEGV, &a, 0);
	sigaction(SIGBUS, &a, 0);
	fake_start();
}

int check_report(const char *name, long at_least)
{
	static const char *const names[] = {"lost", "truncated", "bad-cfi", "guessed", "table-full"};
	int same = check_mismatches == 0 && check_events >= at_least;
	int ok = same && (!check_lenient || check_truncated <= check_events / 50);
	printf("%-28s %8ld stacks, %ld mismatches, %u nodes, %lu full walks", name, check_events, check_mismatches,
	       ht_header->next_node, (unsigned long)ht_header->counters[HT_C_FULL_STEPS]);
	for (u32 i = 0; i < 5; i++)
		if (ht_header->counters[i])
			printf(", %s %lu", names[i], (unsigned long)ht_header->counters[i]);
	printf("%s\n", ok ? "" : " FAILED");
	for (u32 i = 0; i < ODD; i++)
		if (odd[i].stacks)
			printf("    compared up to %s only: %ld\n", odd[i].name, odd[i].stacks);
	return ok ? 0 : same ? CHECK_TRUNCATED : 1;
}
