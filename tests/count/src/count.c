// SPDX-License-Identifier: Apache-2.0
//
// count.c: an independent judge. A preloaded library that counts what goes through the allocation functions, written
// without a line of heaptap's code, and as simply as possible: one lock, one table from address to size, and a mapped
// file of totals that is right after every single event, so that _exit, a crash or kill -9 lose nothing.
//
// Chained behind the agent (LD_PRELOAD="libheaptap.so:count.so") it sees each call that the agent forwards to the real
// functions. Both must then have seen the very same events:
//
//   malloc, calloc, the aligned forms and realloc(NULL, n)   an allocation of the requested bytes; NULL: `failed` only
//   realloc of a block                                       a deallocation and an allocation
//   realloc(p, 0) that returns NULL                          a deallocation
//   free of a block                                          a deallocation; of NULL: nothing
//   a deallocation of an address that is not in the table    `unmatched`; in a forked child that is an inherited block
//
// C++ operators come along as the malloc that they call. Two sizes differ then: libstdc++ asks malloc for 1 byte when 0
// were asked for, and rounds aligned sizes up; none of the judged programs does either.
//
// The file is COUNT_DIR/PID.N.count, N counting the executed images and forks of that pid from 1; see count.go.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MAGIC 0x31544e554f435448ull // "HTCOUNT1"
#define FILE_SIZE 4096
#define EXE_AT 512
#define CMDLINE_AT 1024

enum function {
	F_MALLOC,
	F_CALLOC,
	F_REALLOC,
	F_REALLOCARRAY,
	F_POSIX_MEMALIGN,
	F_ALIGNED_ALLOC,
	F_MEMALIGN,
	F_VALLOC,
	F_PVALLOC,
	F_FREE,
	F_COUNT
};

struct totals {
	uint64_t magic, pid, ppid, forked;
	uint64_t allocations, deallocations, bytes, failed, reallocations, unmatched;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
	uint64_t temporary;
	uint64_t overlaps; // an allocation at an address that was still live: a deallocation went past us
	uint64_t boot; // served by ourselves while the real functions were being looked up; not counted
	uint64_t reserved[15];
	uint64_t calls[F_COUNT];
};

struct block {
	uintptr_t addr; // 0: empty
	uint64_t size;
	uint64_t serial;
};

static struct {
	int lock;
	struct totals *out;
	struct block *table;
	uint64_t mask, used, serial;
} s;
static struct totals nowhere; // counted into when there is no file
static volatile uint64_t *here; // a page that a fork wipes: 0 in a child that has not noticed yet
static uint64_t no_page;
static __thread uint64_t last_serial __attribute__((tls_model("initial-exec"))); // this thread's latest allocation

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);
static void (*real_free)(void *);

static int resolving;
static char boot[1 << 16] __attribute__((aligned(64)));
static size_t boot_used;

static void acquire(void)
{
	for (int n = 0; __atomic_exchange_n(&s.lock, 1, __ATOMIC_ACQUIRE); n++)
		if (n > 100)
			sched_yield();
}

static void release(void)
{
	__atomic_store_n(&s.lock, 0, __ATOMIC_RELEASE);
}

// ---------------------------------------------------------------------------------------------------------------------
// The table, under the lock: linear probing, at most half full.

static uint64_t slot_of(uintptr_t addr)
{
	return (addr >> 4) * 0x9e3779b97f4a7c15ull >> 20 & s.mask;
}

static struct block *map_table(uint64_t n)
{
	void *p = mmap(NULL, n * sizeof(struct block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		static const char text[] = "count.so: no memory for its table\n";
		if (write(2, text, sizeof text - 1) < 0)
			_exit(97);
		_exit(97);
	}
	return p;
}

static void grow(void)
{
	struct block *old = s.table;
	uint64_t n = s.mask + 1;
	s.table = map_table(n * 2);
	s.mask = n * 2 - 1;
	for (uint64_t i = 0; i < n; i++) {
		if (!old[i].addr)
			continue;
		uint64_t at = slot_of(old[i].addr);
		while (s.table[at].addr)
			at = (at + 1) & s.mask;
		s.table[at] = old[i];
	}
	munmap(old, n * sizeof *old);
}

static struct block *find(uintptr_t addr)
{
	for (uint64_t at = slot_of(addr); s.table[at].addr; at = (at + 1) & s.mask)
		if (s.table[at].addr == addr)
			return &s.table[at];
	return NULL;
}

static void erase(struct block *b)
{
	uint64_t hole = (uint64_t)(b - s.table);
	s.used--;
	for (uint64_t at = (hole + 1) & s.mask; s.table[at].addr; at = (at + 1) & s.mask) {
		uint64_t home = slot_of(s.table[at].addr);
		if (((at - home) & s.mask) >= ((at - hole) & s.mask)) {
			s.table[hole] = s.table[at];
			hole = at;
		}
	}
	s.table[hole].addr = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// What an event does to the totals, under the lock.

static void born(void *p, uint64_t size)
{
	struct totals *t = s.out;
	struct block *b = find((uintptr_t)p);
	if (b) {
		t->overlaps++;
		t->live_bytes -= b->size;
		t->live_blocks--;
		erase(b);
	}
	if (s.used * 2 > s.mask)
		grow();
	uint64_t at = slot_of((uintptr_t)p);
	while (s.table[at].addr)
		at = (at + 1) & s.mask;
	last_serial = ++s.serial;
	s.table[at] = (struct block){(uintptr_t)p, size, s.serial};
	s.used++;
	t->allocations++;
	t->bytes += size;
	t->live_blocks++;
	t->live_bytes += size;
	if (t->live_bytes > t->peak_bytes) {
		t->peak_bytes = t->live_bytes;
		t->peak_blocks = t->live_blocks;
	}
}

// Takes a block out of the table and returns what it was; addr is 0 if it was not there.
static struct block died(void *p)
{
	struct totals *t = s.out;
	struct block *b = find((uintptr_t)p), was = {0, 0, 0};
	if (!b) {
		t->unmatched++;
		return was;
	}
	was = *b;
	erase(b);
	t->deallocations++;
	t->live_blocks--;
	t->live_bytes -= was.size;
	return was;
}

// ---------------------------------------------------------------------------------------------------------------------
// Start: of the image, and of a forked child, which has counters and a table of its own.

static void open_file(int forked)
{
	const char *dir = getenv("COUNT_DIR");
	struct totals *t = &nowhere;
	memset(t, 0, sizeof *t);
	if (dir) {
		char path[4096];
		int fd = -1;
		for (int n = 1; n < 10000 && fd < 0; n++) {
			snprintf(path, sizeof path, "%s/%d.%d.count", dir, (int)getpid(), n);
			fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
			if (fd < 0 && errno != EEXIST)
				break;
		}
		if (fd >= 0 && ftruncate(fd, FILE_SIZE) == 0) {
			char *m = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (m != MAP_FAILED) {
				ssize_t n = readlink("/proc/self/exe", m + EXE_AT, CMDLINE_AT - EXE_AT - 1);
				int c = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
				if (c >= 0) {
					n = read(c, m + CMDLINE_AT, FILE_SIZE - CMDLINE_AT - 1);
					close(c);
				}
				(void)n;
				t = (struct totals *)m;
			}
		}
		if (fd >= 0)
			close(fd);
	}
	t->pid = (uint64_t)getpid();
	t->ppid = (uint64_t)getppid();
	t->forked = (uint64_t)forked;
	t->magic = MAGIC;
	s.out = t;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static __attribute__((noinline, cold)) void begin(void)
{
	int error = errno, forked = here != NULL;
	resolving = 1;
	if (!forked) {
		real_calloc = next("calloc");
		real_malloc = next("malloc");
		real_realloc = next("realloc");
		real_posix_memalign = next("posix_memalign");
		real_aligned_alloc = next("aligned_alloc");
		real_memalign = next("memalign");
		real_valloc = next("valloc");
		real_pvalloc = next("pvalloc");
		real_free = next("free");
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		here = p == MAP_FAILED || madvise(p, 4096, MADV_WIPEONFORK) ? &no_page : p;
	}
	s.lock = 0;
	s.used = s.serial = 0;
	last_serial = 0;
	s.mask = (1 << 14) - 1;
	s.table = map_table(s.mask + 1); // a child leaves its parent's table where it is
	open_file(forked);
	*here = 1;
	resolving = 0;
	errno = error;
}

// Before every event. The first one of a process is made by its only thread.
static inline void ready(void)
{
	if (__builtin_expect(!here || !*here, 0) && !resolving)
		begin();
}

static void *from_boot(size_t align, size_t n)
{
	size_t at = (boot_used + align - 1) & ~(align - 1);
	if (at + n > sizeof boot)
		return NULL;
	boot_used = at + n;
	nowhere.boot++;
	return boot + at;
}

static int is_boot(void *p)
{
	return (char *)p >= boot && (char *)p < boot + sizeof boot;
}

static void *allocated(enum function f, void *p, uint64_t size)
{
	acquire();
	s.out->calls[f]++;
	if (p)
		born(p, size);
	else if (size)
		s.out->failed++;
	release();
	return p;
}

// ---------------------------------------------------------------------------------------------------------------------
// The functions

EXPORT void *malloc(size_t n)
{
	ready();
	if (!real_malloc)
		return from_boot(16, n);
	return allocated(F_MALLOC, real_malloc(n), n);
}

EXPORT void *calloc(size_t m, size_t n)
{
	ready();
	if (!real_calloc || resolving)
		return from_boot(16, m * n);
	size_t bytes;
	if (__builtin_mul_overflow(m, n, &bytes))
		bytes = SIZE_MAX; // fails
	return allocated(F_CALLOC, real_calloc(m, n), bytes);
}

static void *resize(enum function f, void *old, size_t n)
{
	ready();
	if (!old)
		return allocated(f, real_realloc(NULL, n), n);
	acquire();
	s.out->calls[f]++;
	struct block was = died(old);
	release();
	void *p = real_realloc(old, n);
	acquire();
	if (p) {
		s.out->reallocations++;
		born(p, n);
	} else if (n) { // failed: as if it had not been
		s.out->failed++;
		if (!was.addr) {
			s.out->unmatched--;
		} else {
			uint64_t last = last_serial;
			born(old, was.size);
			find((uintptr_t)old)->serial = was.serial;
			last_serial = last;
			s.out->allocations--;
			s.out->deallocations--;
			s.out->bytes -= was.size;
		}
	} else if (was.addr && was.serial == last_serial) {
		s.out->temporary++; // realloc(p, 0): a free
	}
	release();
	return p;
}

EXPORT void *realloc(void *old, size_t n)
{
	return resize(F_REALLOC, old, n);
}

EXPORT void *reallocarray(void *old, size_t m, size_t n)
{
	size_t bytes;
	if (__builtin_mul_overflow(m, n, &bytes)) {
		ready();
		acquire();
		s.out->calls[F_REALLOCARRAY]++;
		s.out->failed++;
		release();
		errno = ENOMEM;
		return NULL;
	}
	return resize(F_REALLOCARRAY, old, bytes);
}

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	ready();
	int error = real_posix_memalign(out, align, n);
	allocated(F_POSIX_MEMALIGN, error ? NULL : *out, n);
	return error;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	ready();
	return allocated(F_ALIGNED_ALLOC, real_aligned_alloc(align, n), n);
}

EXPORT void *memalign(size_t align, size_t n)
{
	ready();
	return allocated(F_MEMALIGN, real_memalign(align, n), n);
}

EXPORT void *valloc(size_t n)
{
	ready();
	return allocated(F_VALLOC, real_valloc(n), n);
}

EXPORT void *pvalloc(size_t n)
{
	ready();
	return allocated(F_PVALLOC, real_pvalloc(n), n);
}

static void ended(enum function f, void *p)
{
	acquire();
	s.out->calls[f]++;
	struct block was = died(p);
	if (was.addr && was.serial == last_serial)
		s.out->temporary++;
	release();
}

EXPORT void free(void *p)
{
	if (!p || is_boot(p))
		return;
	ready();
	ended(F_FREE, p);
	real_free(p);
}
