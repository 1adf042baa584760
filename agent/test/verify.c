// SPDX-License-Identifier: Apache-2.0
//
// verify.c: a library to preload into real programs: captures the stack of every allocation and compares one in
// VERIFY_EVERY (100) with libgcc's. At exit it appends a line to the file VERIFY_LOG. glibc's allocator only.
//
//   gcc -O2 -I../src -fPIC -shared -fno-omit-frame-pointer verify.c fake.c ../src/spool/sum.c ../src/unwind/*.c \
//     -o verify.so

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "../src/base/memory.h"
#include "../src/unwind/memo.h"
#include "fake.h"

#define MOST 8192

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static __thread struct ht_memo memo __attribute__((tls_model("initial-exec")));
static __thread int busy __attribute__((tls_model("initial-exec")));
static __thread u32 countdown __attribute__((tls_model("initial-exec")));
static int started;
static u32 every = 100;
static u64 events, compared, wrong, ended_early;

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
	dprintf(2, "  %s (%u):", who, n);
	for (u32 i = 0; i < n && i < 30; i++) {
		Dl_info info;
		if (dladdr((void *)pcs[i], &info) && info.dli_fname)
			dprintf(2, " %s!%s+%lx", strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : "?",
				info.dli_sname ? info.dli_sname : "", pcs[i] - (u64)info.dli_fbase);
		else
			dprintf(2, " %lx", pcs[i]);
	}
	dprintf(2, "\n");
}

static void compare(u32 node, u64 pc)
{
	u64 *mine = ht_map(2 * MOST * 8), *theirs = mine + MOST, *all = mine;
	struct trace t = {theirs, 0};
	int truncated;
	u32 n = fake_path(node, mine, MOST, &truncated), skip = 0;

	_Unwind_Backtrace(one_frame, &t);
	while (skip < t.n && theirs[skip] != pc)
		skip++;
	theirs += skip;
	t.n -= skip;
	while (t.n && theirs[t.n - 1] == 0)
		t.n--;
	__atomic_fetch_add(&compared, 1, __ATOMIC_RELAXED);
	// libgcc stops where it has no information; we may continue by frame pointer.
	if (n > t.n && memcmp(mine, theirs, t.n * 8) == 0 && ht_header->counters[HT_C_GUESSED])
		__atomic_fetch_add(&ended_early, 1, __ATOMIC_RELAXED);
	else if ((n != t.n || memcmp(mine, theirs, n * 8) != 0 || truncated) && n != MOST &&
		 __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < 5) {
		dprintf(2, "verify: pid %d: mismatch%s\n", getpid(), truncated ? " (truncated)" : "");
		dump("ours", mine, n);
		dump("libgcc", theirs, t.n);
	}
	ht_unmap(all, 2 * MOST * 8);
}

static void event(u64 *frame, int checks)
{
	if (!started || busy)
		return;
	busy = 1;
	if (ht_in_loader(frame[1]))
		ht_modules_check();
	if (checks) {
		u32 node = ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
		__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
		if (countdown-- == 0) {
			countdown = every - 1;
			compare(node, frame[1]);
		}
	}
	busy = 0;
}
#define HOOK __attribute__((visibility("default"), noinline))

HOOK void *malloc(size_t n)
{
	void *p = __libc_malloc(n);
	event(__builtin_frame_address(0), 1);
	return p;
}
HOOK void *calloc(size_t a, size_t b)
{
	void *p = __libc_calloc(a, b);
	event(__builtin_frame_address(0), 1);
	return p;
}
HOOK void *realloc(void *old, size_t n)
{
	void *p = __libc_realloc(old, n);
	event(__builtin_frame_address(0), 1);
	return p;
}
HOOK void *memalign(size_t a, size_t n)
{
	void *p = __libc_memalign(a, n);
	event(__builtin_frame_address(0), 1);
	return p;
}
HOOK void free(void *p)
{
	event(__builtin_frame_address(0), 0);
	__libc_free(p);
}

__attribute__((constructor)) static void start(void)
{
	const char *e = getenv("VERIFY_EVERY");
	if (e && atoi(e) > 0)
		every = (u32)atoi(e);
	fake_start();
	started = 1;
}

__attribute__((destructor)) static void end(void)
{
	char line[600];
	const char *e = getenv("VERIFY_LOG");
	int fd = e ? open(e, O_WRONLY | O_CREAT | O_APPEND, 0644) : 2;
	u64 *c = ht_header->counters;
	int n = snprintf(
		line, sizeof(line),
		"%s %s: %lu events, %lu compared, %lu wrong, %lu where libgcc stops, %u rules, %u nodes, %u modules; "
		"truncated %lu bad-cfi %lu guessed %lu full %lu table-full %lu\n",
		wrong ? "WRONG" : "ok", program_invocation_short_name, events, compared, wrong, ended_early,
		ht_header->next_pc, ht_header->next_node, ht_header->next_module, c[HT_C_TRUNCATED], c[HT_C_BAD_CFI],
		c[HT_C_GUESSED], c[HT_C_FULL_STEPS], c[HT_C_TABLE_FULL]);
	if (write(fd, line, (size_t)n) < 0)
		return;
}
