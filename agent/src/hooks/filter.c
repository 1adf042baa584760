// SPDX-License-Identifier: Apache-2.0
//
// filter.c: what filter.h says.
//
// Filters are seen as they are installed, by prctl and syscall, which this file puts hooks before. They are kept, and
// asked about each call of the agent's with its real arguments and the address that it is made from. A filter counts
// from before it is installed: no moment must be left in which it holds and is not heeded. If installing fails, it does
// not count any more.
//
// A filter holds for the thread that installs it and for what this thread makes: threads, and forked children. So each
// thread has a list of its own, in its thread-local storage. Where a thread comes from that has no list yet, nobody
// tells: it asks the kernel whether it has any filter at all, and if so, all that were ever installed here count.

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <time.h>

#include "base/bpf.h"
#include "base/environ.h"
#include "base/filter.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/spool.h"
#include "unwind/modules.h"
#include "record/real.h"
#include "record/record.h"
#include "record/thread.h"

struct ht_filter {
	const struct ht_filter *older; // of the same thread
	struct ht_filter *next; // of all
	u32 number; // of those of its thread: 1 and on
	u32 failed; // it was not installed after all
	u32 length;
	struct sock_filter code[];
};

u32 ht_filtered;
u32 ht_clock_is_doubtful; // some thread has given up reading it
static struct ht_filter *all; // that were ever installed in this process
static const struct ht_filter *synced; // the newest one of those that were installed for all threads
static u32 unknown; // there was no memory to keep a filter: who knows what is forbidden

enum { NO_CLOCK = 1, STRICT = 2 }; // ht_local.stopped

// ---------------------------------------------------------------------------------------------------------------------
// Asking

static int lets_pass(const struct ht_filter *f, const struct seccomp_data *call)
{
	// A tracer or a supervisor may do anything with a call that is shown to it; an error number may be 0, which
	// says that it was done.
	u32 action = ht_bpf_run(f->code, f->length, call) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || ht_load(&f->failed);
}

// The newest filter of this thread. A filter is installed for all threads only if it extends the list of each.
static const struct ht_filter *newest(void)
{
	const struct ht_filter *own = ht_local.filters, *common = ht_load_acquire(&synced);
	return common && (!own || own->number < common->number) ? common : own;
}

static int is_allowed(const struct seccomp_data *call)
{
	if (ht_local.stopped & STRICT || ht_load(&unknown))
		return 0;
	if (ht_local.filters_known) {
		for (const struct ht_filter *f = newest(); f; f = f->older)
			if (!lets_pass(f, call))
				return 0;
	} else {
		for (const struct ht_filter *f = ht_load_acquire(&all); f; f = f->next)
			if (!lets_pass(f, call))
				return 0;
	}
	return 1;
}

#define CALL(n, ...) ((struct seccomp_data){(n), HT_AUDIT_ARCH, (u64)ht_syscall_made_at, {__VA_ARGS__}})

static long make(const struct seccomp_data *call)
{
	const __u64 *a = call->args;
	return ht_syscall_made(call->nr, (long)a[0], (long)a[1], (long)a[2], (long)a[3], (long)a[4], (long)a[5]);
}

static long ask(const struct seccomp_data *call, long otherwise)
{
	return is_allowed(call) ? make(call) : otherwise;
}

static void hand_over(const struct ht_filter *newest);

// A vforked child has installed filters in the name of the thread that waited for it, which goes on.
static void take_back(void)
{
	const struct ht_filter *f = ht_local.filters;
	for (; f && f != ht_local.filters_before; f = f->older)
		ht_store(&((struct ht_filter *)f)->failed, 1);
	ht_local.filters = ht_local.filters_before;
	ht_local.filters_pid = 0;
	hand_over(newest());
}

// What a thread cannot know by itself: whether it was made with filters, and whether it is a vforked child.
static HT_COLD void find_out(void)
{
	struct seccomp_data who = CALL(__NR_getpid), has = CALL(__NR_prctl, PR_GET_SECCOMP);
	if (!ht_local.filters_known && !ht_local.filters_asked) {
		ht_local.filters_asked = 1;
		ht_local.filters_known = ask(&has, -1) == 0;
	}
	if (ht_local.filters_pid && ht_local.filters_pid != ht_pid && ask(&who, -1) == ht_pid)
		take_back();
}

long ht_call_filtered(long n, long a, long b, long c, long d, long e, long f)
{
	struct seccomp_data call = CALL((int)n, (u64)a, (u64)b, (u64)c, (u64)d, (u64)e, (u64)f);
	struct seccomp_data to_close = CALL(__NR_close, 3);
	find_out();
	// What cannot be closed is not opened.
	if (is_allowed(&call) && ((n != __NR_openat && n != __NR_socket) || is_allowed(&to_close)))
		return make(&call);
	ht_count(HT_C_FORBIDDEN);
	return -EPERM;
}

void ht_filter_begin_thread(void)
{
	if (!ht_load(&ht_filtered))
		ht_local.filters_known = 1;
}

int ht_ask_clock(void)
{
	int value = 0;
	if (!ht_local.stopped && !ht_local.clock_known) {
		if (ht_sys2(__NR_prctl, PR_GET_TSC, &value) == 0 && value == PR_TSC_ENABLE)
			ht_local.clock_known = 1;
		else
			ht_local.stopped = NO_CLOCK;
	}
	return !ht_local.stopped;
}

// ---------------------------------------------------------------------------------------------------------------------
// Before a filter is installed: what it will not let the agent do later is done now, as far as it can be.

static void prepare(const struct ht_filter *f)
{
	u64 p = (u64)ht_chunks, size = 4 * HT_CHUNK_SIZE;
	struct seccomp_data lengthen = CALL(__NR_mremap, p, size, 2 * size, 0),
			    populate = CALL(__NR_madvise, p, size, 23 /* MADV_POPULATE_WRITE */),
			    touch = CALL(__NR_futex, p, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, p,
					 FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)),
			    lock = CALL(__NR_mlockall, 1 /* MCL_CURRENT */),
			    map = CALL(__NR_mmap, 0, 1 << 16, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0),
			    clock = CALL(__NR_clock_gettime, CLOCK_MONOTONIC, p);
	if (!lets_pass(f, &lengthen))
		ht_spool_open_ahead(lets_pass(f, &lock));
	if (!lets_pass(f, &populate) && !lets_pass(f, &touch))
		ht_spool_fill_ahead();
	if (!lets_pass(f, &map))
		ht_map_ahead();
	if (!lets_pass(f, &clock))
		ht_now_ahead();
}

// ---------------------------------------------------------------------------------------------------------------------
// Filters are inherited through exec
//
// heaptap run says how many filters it lives under itself, and leaves room in a variable of the environment,
// VARIABLE=ID:COUNT. Who installs a filter writes all that its process has to a file in the run's folder, and its
// number over ID, where it stands. An image that has more filters than heaptap run finds them there. What it makes of
// them is as if it had installed them.

#define VARIABLE "HEAPTAP_RUN_FILTERS"
#define ID_SIZE 16
#define UNKNOWN_ID "ffffffffffffffff" // there are filters, and no file

extern char **environ __attribute__((weak));

// In the file: this, and then each filter's length and code.
struct handed {
	u32 count;
	u32 exactly; // they are those of every thread; else each may have some of them
};

// Where the program has the variable's value, if that looks as it should; null if it has none.
static char *id_in_environ(void)
{
	static const char name[] = VARIABLE "=";
	const u64 size = sizeof(name) - 1;
	for (char **e = &environ ? environ : 0; e && *e; e++)
		if (ht_strlen(*e) > size + ID_SIZE && __builtin_memcmp(*e, name, size) == 0)
			return *e + size;
	return 0;
}

static int path_of(char *path, u64 size, const char *folder, const char *id)
{
	path[0] = 0;
	ht_append(path, size, folder);
	ht_append(path, size, "/");
	u64 n = ht_strlen(path);
	if (n + ID_SIZE + 9 > size)
		return -1;
	__builtin_memcpy(path + n, id, ID_SIZE);
	path[n + ID_SIZE] = 0;
	ht_append(path, size, ".filters");
	return 0;
}

static int write_all(long fd, const void *p, u64 size)
{
	return ht_sys3(__NR_write, fd, p, size) == (long)size ? 0 : -1;
}

static int write_filters(long fd, const struct ht_filter *own)
{
	struct handed h = {0, ht_local.filters_known != 0};
	const struct ht_filter *f;
	for (f = ht_load_acquire(&all); f; f = f->next)
		h.count += !ht_load(&f->failed);
	h.exactly &= own->number == h.count;
	if (write_all(fd, &h, sizeof(h)) < 0)
		return -1;
	for (f = ht_load_acquire(&all); f; f = f->next)
		if (!ht_load(&f->failed) && (write_all(fd, &f->length, sizeof(f->length)) < 0 ||
					     write_all(fd, f->code, f->length * sizeof(*f->code)) < 0))
			return -1;
	return 0;
}

// For images to come; before the newest filter counts. Null: there is none.
static void hand_over(const struct ht_filter *newest)
{
	char folder[256], path[300], number[ID_SIZE + 1] = "", padded[ID_SIZE + 1] = "", *id = id_in_environ();
	if (!id)
		return;
	if (!newest) {
		__builtin_memset(id, '0', ID_SIZE);
		return;
	}
	ht_append_number(number, sizeof(number), ht_clock(), 16);
	for (u64 n = ht_strlen(number); n < ID_SIZE; n++)
		ht_append(padded, sizeof(padded), "0");
	ht_append(padded, sizeof(padded), number);
	__builtin_memcpy(id, UNKNOWN_ID, ID_SIZE);
	if (!ht_spool_folder(folder, sizeof(folder)) || path_of(path, sizeof(path), folder, padded) < 0)
		return;
	long fd = ht_sys4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write_filters(fd, newest) == 0)
		__builtin_memcpy(id, padded, ID_SIZE);
	ht_sys1(__NR_close, fd);
}

static u64 read_file(const char *path, u8 *out, u64 size)
{
	long fd = ht_sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;
	u64 have = 0;
	while (fd >= 0 && have < size && (n = ht_sys3(__NR_read, fd, out + have, size - have)) > 0)
		have += (u64)n;
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
	return have;
}

// Number of this thread's filters; -1: the kernel does not say. The loader, too, has opened, read and closed files.
static i64 count_filters(u8 *buffer, u64 size)
{
	static const char key[] = "\nSeccomp_filters:\t";
	u64 n = read_file("/proc/self/status", buffer, size);
	for (u64 i = 0; i + sizeof(key) <= n; i++) {
		if (__builtin_memcmp(buffer + i, key, sizeof(key) - 1) != 0)
			continue;
		i64 count = 0;
		for (i += sizeof(key) - 1; i < n && buffer[i] >= '0' && buffer[i] <= '9' && count < 1 << 20; i++)
			count = count * 10 + (buffer[i] - '0');
		return count;
	}
	return -1;
}

// Takes what a file says, if it accounts for this many filters.
static int take_over(const u8 *file, u64 size, u64 inherited)
{
	struct handed h;
	u64 at = sizeof(h);
	const struct ht_filter *own = 0;
	if (size < sizeof(h))
		return -1;
	__builtin_memcpy(&h, file, sizeof(h));
	if (h.exactly ? h.count != inherited : h.count < inherited)
		return -1;
	for (u32 i = 0; i < h.count; i++) {
		u32 length;
		if (size - at < sizeof(length))
			return -1;
		__builtin_memcpy(&length, file + at, sizeof(length));
		at += sizeof(length);
		if (length > BPF_MAXINSNS || (size - at) / sizeof(struct sock_filter) < length)
			return -1;
		struct ht_filter *f = ht_map(sizeof(*f) + length * sizeof(*f->code));
		if (!f)
			return -1;
		f->older = own;
		f->number = i + 1;
		f->length = length;
		__builtin_memcpy(f->code, file + at, length * sizeof(*f->code));
		at += length * sizeof(*f->code);
		f->next = all;
		own = all = f;
	}
	ht_local.filters = own;
	ht_local.filters_known = 1;
	ht_store_release(&ht_filtered, 1);
	return 0;
}

int ht_filter_init(void)
{
	const u64 room = 1 << 20;
	const char *value = ht_environ_get(VARIABLE), *run = ht_environ_get("HEAPTAP_RUN");
	u64 outside;
	u8 *buffer;
	static char path[4096];
	int result = 0;
	if (!value || !run || ht_strlen(value) < ID_SIZE + 2 || value[ID_SIZE] != ':' ||
	    ht_number_exact(value + ID_SIZE + 1, &outside) < 0 || !(buffer = ht_map(room)))
		return 0;
	i64 have = count_filters(buffer, room);
	if (have > (i64)outside)
		result = path_of(path, sizeof(path), run, value) < 0
				 ? -1
				 : take_over(buffer, read_file(path, buffer, room), (u64)have - outside);
	ht_unmap(buffer, room);
	return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// What is installed

struct change {
	enum { NOTHING, FILTER, NO_CALLS, CLOCK_OFF, CLOCK_ON } what;
	u64 flags;
	const struct sock_fprog *program;
	// As it was before.
	struct ht_thread *thread;
	struct ht_filter *filter;
	const struct ht_filter *filters, *synced;
	u32 stopped;
	char *environ_id, id[ID_SIZE]; // in the environment, if it is there
};

static int is_readable(const void *p, u64 size)
{
	for (u64 page = (u64)p & ~4095ull; page < (u64)p + size; page += 4096)
		if (!ht_readable(page > (u64)p ? page : (u64)p))
			return 0;
	return 1;
}

// Null: the kernel will refuse it as well.
static struct ht_filter *copy(const struct sock_fprog *from)
{
	if (!is_readable(from, sizeof(*from)))
		return 0;
	struct sock_fprog p = *from;
	u64 size = p.len * sizeof(*p.filter);
	if (p.len == 0 || p.len > BPF_MAXINSNS || !is_readable(p.filter, size))
		return 0;
	struct ht_filter *f = ht_map(sizeof(*f) + size);
	if (!f) {
		ht_store(&unknown, 1);
		ht_store_release(&ht_filtered, 1);
		return 0;
	}
	f->length = p.len;
	__builtin_memcpy(f->code, p.filter, size);
	return f;
}

// What may not be possible later: the thread gets its state, and its stack is looked at.
static void know_thread(struct ht_caller here)
{
	struct ht_thread *t = ht_begin(here);
	if (!t)
		return;
	ht_capture(&t->memo, here.pc, here.sp, here.fp);
	ht_end(t, t->stream, (u64 *)t->at);
}

static void begin_filter(struct change *c, struct ht_caller here)
{
	struct ht_filter *f;
	know_thread(here);
	f = c->filter = copy(c->program);
	if (!f)
		return;
	prepare(f);
	i32 pid = (i32)ht_sys0(__NR_getpid);
	find_out();
	c->filters = ht_local.filters;
	c->synced = ht_load(&synced);
	f->older = newest();
	f->number = f->older ? f->older->number + 1 : 1;
	f->next = ht_load(&all);
	while (!__atomic_compare_exchange_n(&all, &f->next, f, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	c->environ_id = id_in_environ();
	if (c->environ_id)
		__builtin_memcpy(c->id, c->environ_id, ID_SIZE);
	hand_over(f);
	if (pid > 0 && pid != (i32)ht_pid && !ht_local.filters_pid) {
		ht_local.filters_before = ht_local.filters;
		ht_local.filters_pid = (u32)pid;
	}
	ht_local.filters = f;
	if (c->flags & SECCOMP_FILTER_FLAG_TSYNC)
		ht_store_release(&synced, f);
	ht_store_release(&ht_filtered, 1);
}

static void stop(u32 why)
{
	ht_local.stopped |= why;
	ht_local.thread = &ht_no_thread;
	if (why == STRICT)
		ht_store(&ht_filtered, 1);
	ht_store_release(&ht_clock_is_doubtful, 1);
}

static void begin(struct change *c, struct ht_caller here)
{
	c->stopped = ht_local.stopped;
	c->thread = ht_local.thread;
	if (c->what == FILTER)
		begin_filter(c, here);
	else if (c->what == NO_CALLS)
		stop(STRICT);
	else if (c->what == CLOCK_OFF)
		stop(NO_CLOCK);
}

static void end(const struct change *c, int failed)
{
	const struct ht_filter *here = c->filter;
	if (c->what == CLOCK_ON && !failed) {
		ht_local.stopped &= ~(u32)NO_CLOCK;
		ht_local.clock_known = 1;
	}
	if (!failed)
		return;
	if (c->what == NO_CALLS || c->what == CLOCK_OFF) {
		ht_local.stopped = c->stopped;
		ht_local.thread = c->thread;
	}
	if (!here)
		return;
	ht_store(&c->filter->failed, 1);
	ht_local.filters = c->filters;
	if (c->environ_id)
		__builtin_memcpy(c->environ_id, c->id, ID_SIZE);
	if (c->flags & SECCOMP_FILTER_FLAG_TSYNC)
		__atomic_compare_exchange_n(&synced, &here, c->synced, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static struct change by_prctl(u64 option, u64 a, u64 b)
{
	struct change c = {NOTHING};
	option = (u32)option; // as the kernel reads it; so below
	if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_FILTER) {
		c.what = FILTER;
		c.program = (const void *)b;
	} else if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) {
		c.what = NO_CALLS;
	} else if (option == PR_SET_TSC && (u32)a == PR_TSC_SIGSEGV) {
		c.what = CLOCK_OFF;
	} else if (option == PR_SET_TSC && (u32)a == PR_TSC_ENABLE) {
		c.what = CLOCK_ON;
	}
	return c;
}

static struct change by_seccomp(u32 operation, u32 flags, u64 program)
{
	struct change c = {NOTHING};
	if (operation == SECCOMP_SET_MODE_FILTER) {
		c.what = FILTER;
		c.flags = flags;
		c.program = (const void *)program;
	} else if (operation == SECCOMP_SET_MODE_STRICT) {
		c.what = NO_CALLS;
	}
	return c;
}

// ---------------------------------------------------------------------------------------------------------------------
// The hooks. libseccomp calls syscall; so do programs, since libc has no function for the seccomp system call.

static long straight(long n, long a, long b, long c, long d, long e, long f)
{
	long r = ht_syscall(n, a, b, c, d, e, f);
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

static int straight_prctl(int option, u64 a, u64 b, u64 c, u64 d)
{
	return (int)straight(__NR_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);
}

ht_syscall_function ht_real_syscall = straight;
int (*ht_real_prctl)(int, u64, u64, u64, u64) = straight_prctl;

// What syscall(3) calls for the two that matter; everything else it passes on.
__attribute__((used)) long ht_syscall_hooked(long n, long a, long b, long c, long d, long e, long f)
{
	struct change change = {NOTHING};
	if (ht_init())
		change = (u32)n == __NR_prctl ? by_prctl((u64)a, (u64)b, (u64)c) : by_seccomp((u32)a, (u32)b, (u64)c);
	begin(&change, HT_CALLER());
	long r = ht_real_syscall(n, a, b, c, d, e, f);
	// A caller that synchronizes threads gets the id of the thread that was in the way, unless a listener's
	// descriptor is wanted.
	end(&change, r < 0 || (r > 0 && !(change.flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)));
	return r;
}

HT_SYSCALL_HOOK(syscall, ht_syscall_hooked, ht_real_syscall);
HT_SYSCALL_MADE;

HT_EXPORT int prctl(int option, u64 a, u64 b, u64 c, u64 d)
{
	struct change change = {NOTHING};
	if ((option == PR_SET_SECCOMP || option == PR_SET_TSC) && ht_init())
		change = by_prctl((u64)option, a, b);
	begin(&change, HT_CALLER());
	int r = ht_real_prctl(option, a, b, c, d);
	end(&change, r < 0);
	return r;
}
