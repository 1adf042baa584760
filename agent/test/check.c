// SPDX-License-Identifier: Apache-2.0
//
// check.c: takes a stack as a hook would and compares it with _Unwind_Backtrace's. Compiled with frame pointers.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "../src/memo.h"
#include "check.h"
#include "fake.h"

#define LEVELS 8
#define MOST 4096

long check_events, check_mismatches, check_truncated;
int check_lenient;
__thread int check_level;
static __thread struct ht_memo memos[LEVELS] __attribute__((tls_model("initial-exec")));

struct trace {
	u64 *pcs;
	u32 n;
};

static _Unwind_Reason_Code one_frame(struct _Unwind_Context *context, void *data)
{
	struct trace *t = data;
	if (t->n == MOST)
		return _URC_END_OF_STACK;
	t->pcs[t->n++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

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

static void compare(u32 node, u64 pc)
{
	static __thread u64 all_mine[LEVELS][MOST], all_theirs[LEVELS][MOST];
	u64 *mine = all_mine[check_level], *theirs = all_theirs[check_level];
	struct trace t = {theirs, 0};
	int truncated;
	u32 n = fake_path(node, mine, MOST, &truncated), skip = 0;

	__atomic_fetch_add(&check_events, 1, __ATOMIC_RELAXED);
	if (truncated)
		__atomic_fetch_add(&check_truncated, 1, __ATOMIC_RELAXED);
	// Where the information itself is wrong libgcc would follow it into memory that is not there.
	if (truncated && check_lenient)
		return;
	_Unwind_Backtrace(one_frame, &t);
	while (skip < t.n && theirs[skip] != pc)
		skip++;
	theirs += skip;
	t.n -= skip;
	while (t.n && theirs[t.n - 1] == 0)
		t.n--;
	if (n == t.n && memcmp(mine, theirs, n * 8) == 0 && !truncated)
		return;
	if (__atomic_fetch_add(&check_mismatches, 1, __ATOMIC_RELAXED) < 5) {
		fprintf(stderr, "mismatch%s\n", truncated ? " (truncated)" : "");
		dump("ours", mine, n);
		dump("libgcc", theirs, t.n);
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

void check_start(void)
{
	fake_start();
}

int check_report(const char *name, long at_least)
{
	static const char *const names[] = {"lost", "truncated", "bad-cfi", "guessed", "table-full"};
	int ok = check_mismatches == 0 && check_events >= at_least &&
		 check_truncated <= (check_lenient ? check_events / 100 : 0);
	printf("%-28s %8ld stacks, %ld mismatches, %u nodes, %lu full walks", name, check_events, check_mismatches,
	       ht_header->next_node, (unsigned long)ht_header->counters[HT_C_FULL_STEPS]);
	for (u32 i = 0; i < 5; i++)
		if (ht_header->counters[i])
			printf(", %s %lu", names[i], (unsigned long)ht_header->counters[i]);
	printf("%s\n", ok ? "" : " FAILED");
	return ok ? 0 : 1;
}
