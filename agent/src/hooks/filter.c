// SPDX-License-Identifier: Apache-2.0
//
// filter.c: implements filter.h.
//
// Filters are seen when they are installed, through the hooks of prctl and syscall in this file. They are kept, and
// evaluated for each system call of the agent, with its real arguments and the address from which it is made. A filter
// is obeyed from before it is installed, so that there is no moment in which it is in force but ignored. If installing
// it fails, it is dropped.
//
// A filter applies to the thread that installs it, and to the threads and forked children that this thread creates. So
// each thread has a list of its own, in its thread-local storage. For a thread without a list it is unknown which
// thread created it. It asks the kernel whether it has any filter; if so, all filters ever installed in this process
// count.

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
#include "base/proc.h"
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
	u32 number; // its number in its thread, from 1
	u32 failed; // installing it failed
	u32 length;
	struct sock_filter code[];
};

u32 ht_filtered;
u32 ht_clock_is_doubtful; // some thread may no longer read it
static struct ht_filter *all; // every filter ever installed in this process
static const struct ht_filter *synced; // the newest filter that was installed for all threads
static u32 unknown; // there was no memory to keep a filter, so it is unknown what is forbidden

enum { NO_CLOCK = 1, STRICT = 2 }; // ht_local.stopped

// ---------------------------------------------------------------------------------------------------------------------
// Evaluating filters

static int lets_pass(const struct ht_filter *f, const struct seccomp_data *call)
{
	// A tracer or a supervisor may do anything with a call that it is shown. An error number may be 0, which means
	// success.
	u32 action = ht_bpf_run(f->code, f->length, call) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || ht_load(&f->failed);
}

// Returns the newest filter of this thread. A filter can be installed for all threads only if it extends each thread's
// list.
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

// A vforked child installed filters in the memory of the thread that waited for it. That thread continues without them.
static void take_back(void)
{
	const struct ht_filter *f = ht_local.filters;
	for (; f && f != ht_local.filters_before; f = f->older)
		ht_store(&((struct ht_filter *)f)->failed, 1);
	ht_local.filters = ht_local.filters_before;
	ht_local.filters_pid = 0;
	hand_over(newest());
}

// Finds out whether the thread inherited filters, and whether it is a vforked child.
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
	// A file is not opened if it could not be closed.
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
// Before a filter is installed: does now, as far as possible, what the filter will forbid the agent later

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
// heaptap run passes the number of its own filters in an environment variable, VARIABLE=ID:COUNT, with room for an id.
// A process that installs a filter writes all of its filters to a file in the run's folder, and overwrites ID in place
// with the file's number. An image that has more filters than heaptap run finds them there, and treats them as if it
// had installed them.

#define VARIABLE "HEAPTAP_RUN_FILTERS"
#define ID_SIZE 16
#define UNKNOWN_ID "ffffffffffffffff" // there are filters, but no file

extern char **environ __attribute__((weak));

// The file: this header, and then each filter's length and code.
struct handed {
	u32 count;
	u32 exactly; // every thread has all of them; otherwise each thread may have some of them
};

// Returns where the program keeps the variable's value; null if it is missing or malformed.
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

// Writes the filters for images executed later, before the newest filter is in force. Null: there is none.
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

// Takes over the filters in a file, if they are this many.
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

#define SMALL 8192

int ht_filter_init(void)
{
	const u64 room = 1 << 20;
	const char *value = ht_environ_get(VARIABLE), *run = ht_environ_get("HEAPTAP_RUN");
	u64 outside;
	u8 *buffer, *small = ht_environ_room(SMALL);
	static char path[4096] HT_LARGE;
	int result = 0;
	if (!value || !run || ht_strlen(value) < ID_SIZE + 2 || value[ID_SIZE] != ':' ||
	    ht_number_exact(value + ID_SIZE + 1, &outside) < 0)
		return 0;
	// The number of this thread's filters, which allow this: the loader has also opened, read and closed files.
	i64 have = small ? ht_status_number("Seccomp_filters:", small, SMALL) : -1;
	if ((have >= 0 && have <= (i64)outside) || !(buffer = ht_map(room)))
		return 0;
	if (have < 0) // a process of very many groups, or an old kernel
		have = ht_status_number("Seccomp_filters:", buffer, room);
	if (have > (i64)outside)
		result = path_of(path, sizeof(path), run, value) < 0
				 ? -1
				 : take_over(buffer, ht_read_file(path, buffer, room), (u64)have - outside);
	ht_unmap(buffer, room);
	return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// Installing

struct change {
	enum { NOTHING, FILTER, NO_CALLS, CLOCK_OFF, CLOCK_ON } what;
	u64 flags;
	const struct sock_fprog *program;
	// The state before.
	struct ht_thread *thread;
	struct ht_filter *filter;
	const struct ht_filter *filters, *synced;
	u32 stopped;
	char *environ_id, id[ID_SIZE]; // in the environment, or null
};

static int is_readable(const void *p, u64 size)
{
	for (u64 page = (u64)p & ~4095ull; page < (u64)p + size; page += 4096)
		if (!ht_readable(page > (u64)p ? page : (u64)p))
			return 0;
	return 1;
}

// Null: the kernel will refuse it, too.
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

// Does what may not be possible later: makes the thread's state, and finds the bounds of its stack.
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
	option = (u32)option; // as the kernel reads it; likewise below
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
// The hooks. libseccomp and programs call syscall, because libc has no function for the seccomp system call.

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

// Called by the hook of syscall(3) for prctl and seccomp; it passes on everything else.
__attribute__((used)) long ht_syscall_hooked(long n, long a, long b, long c, long d, long e, long f)
{
	struct change change = {NOTHING};
	if (ht_init())
		change = (u32)n == __NR_prctl ? by_prctl((u64)a, (u64)b, (u64)c) : by_seccomp((u32)a, (u32)b, (u64)c);
	begin(&change, HT_CALLER());
	long r = ht_real_syscall(n, a, b, c, d, e, f);
	// With TSYNC, the result is the id of a thread that could not be synchronized, unless a listener's descriptor
	// is requested.
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
