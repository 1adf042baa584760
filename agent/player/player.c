// SPDX-License-Identifier: Apache-2.0
//
// player.c: plays a plan (plan.h) against the allocator that the loader has put before libc's.
//
//   heaptap-player PLAN RESULT MODE TOUCH REST
//
// MODE is time, latency (the clock is read before and after each call), memory (the resident set is read at the end of
// each epoch) or calls (system calls are counted). TOUCH says what is written to: none, first (the first byte of each
// block) or all (each page of it). REST is free, if the blocks that are left at the end are to be freed, or keep.
//
// Between the first and the last operation the player allocates nothing, except by starting the threads of the plan:
// chunks of the plan are read into a buffer on each thread's stack, tables are mapped before. It has no lock.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <malloc.h> // memalign
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "calls.h"
#include "plan.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))

// Versions of functions that old C libraries have, too.
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");
__asm__(".symver pthread_detach, pthread_detach@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstacksize, pthread_attr_setstacksize@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstack, pthread_attr_setstack@GLIBC_2.2.5");

#define ADDRESS ((1ull << 48) - 2) // an entry's address; 1 stands for null
#define FILLED (1ull << 48)

enum mode { MODE_TIME, MODE_LATENCY, MODE_MEMORY, MODE_CALLS };
// TOUCH_RECORDED touches all pages of a block, unless the plan says which.
enum touch { TOUCH_NONE, TOUCH_FIRST, TOUCH_ALL, TOUCH_RECORDED };

enum { LIFE_NONE, LIFE_SPAWNING, LIFE_STARTED, LIFE_TO_END };
struct life {
	u32 state; // of LIFE_...; a futex
	u32 unused;
	pthread_t id; // from LIFE_STARTED on
};

static int plan_file, statm_file, rollup_file;
static struct plan_head head;
static struct plan_thread *threads;
static struct life *lives; // of the threads
static u32 *epoch_threads, *epoch_left;
static u64 *slots;
static u8 **chunks; // of pools
static u8 *classes; // latency: the size class of each slot's block
static u64 *sizes; // when pages are touched, not only the first byte: how many bytes each slot's block has
static struct result *result;
static u64 room_for_samples;
static enum mode mode;
static enum touch touch;
static u64 stride; // when all of a block is touched, one byte of so many: a page's, or a cache line's
static u32 window; // how many epochs a thread may be ahead of others; 0: any number
static const u64 page = 4096;

static u64 complete; // epochs that have ended
static u32 turn;
static u32 playing; // threads that do, without the main one
static struct rusage usage; // at the beginning

// Times by processor, so that threads seldom share them.
#define PROCESSORS 64
static struct times (*times)[CALLS][SIZE_CLASSES];

struct thread {
	u32 number;
	u64 cpu_begin;
	u64 waits, wait_tsc, wait_cpu_tsc, wait_cpu_ns;
	u64 calls[CALLS];
	u8 kept[32 << 10];
};

// ---------------------------------------------------------------------------------------------------------------------
// The end, and what is read of the process

static COLD _Noreturn void finish(enum status status, u64 detail, const char *text)
{
	u32 none = STATUS_NONE;
	result->detail = detail;
	for (u32 i = 0; text[i] && i + 1 < sizeof result->text; i++)
		result->text[i] = text[i];
	__atomic_compare_exchange_n(&result->status, &none, status, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	_exit(status == STATUS_DONE ? 0 : 1);
}

static COLD _Noreturn void bad_plan(const char *what)
{
	finish(STATUS_BAD_PLAN, 0, what);
}

static COLD _Noreturn void failed(const char *what)
{
	finish(STATUS_ERROR, (u64)errno, what);
}

static u64 now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

static u64 process_cpu(void)
{
	return now(CLOCK_PROCESS_CPUTIME_ID);
}

static u64 number_after(const char *text, const char *name)
{
	const char *p = *name ? strstr(text, name) : text;
	u64 v = 0;
	if (!p)
		return 0;
	for (p += strlen(name); *p == ' ' || *p == '\t'; p++)
		;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (u64)(*p - '0');
	return v;
}

// The kernel's counters, which are right up to some pages for each processor.
static u64 rss(void)
{
	char text[128];
	ssize_t n = pread(statm_file, text, sizeof text - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = 0;
	return number_after(text, " ") * page;
}

// Counted page by page, which takes longer.
static u64 exact_rss(u64 *pss)
{
	char text[1024];
	ssize_t n = pread(rollup_file, text, sizeof text - 1, 0);
	if (n <= 0) {
		*pss = 0;
		return rss();
	}
	text[n] = 0;
	*pss = number_after(text, "\nPss:") * 1024;
	return number_after(text, "\nRss:") * 1024;
}

static u64 peak_rss(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	return number_after(text, "\nVmHWM:") * 1024;
}

// ---------------------------------------------------------------------------------------------------------------------
// Waiting for other threads

// A thread that waits sleeps soon: it then finds much to do, as a thread that waits for a message does. Were it awake
// whenever a block is there, it would follow close behind the thread that allocates them.
#define SPINS 16 // as long as this, a thread does not let others run
#define YIELDS 1 // and as long as this, it does not sleep
#define LONGEST 4 // it sleeps for 5 us, then for twice as long each time, up to 2^4 times as long

struct waiting {
	u64 tsc, cpu;
	u32 spins;
};

static COLD void wait_more(struct waiting *w)
{
	if (w->spins++ == 0)
		w->tsc = __rdtsc();
	if (w->spins < SPINS) {
		_mm_pause();
		return;
	}
	if (w->spins == SPINS)
		w->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	if (w->spins < SPINS + YIELDS) {
		syscall(SYS_sched_yield);
		return;
	}
	u32 n = w->spins - SPINS - YIELDS;
	struct timespec t = {0, 5000 << (n < LONGEST ? n : LONGEST)};
	syscall(SYS_nanosleep, &t, 0);
}

static COLD void wait_ended(struct thread *t, const struct waiting *w)
{
	u64 took = __rdtsc() - w->tsc;
	t->waits++;
	t->wait_tsc += took;
	if (w->spins < SPINS)
		t->wait_cpu_tsc += took;
	else
		t->wait_cpu_ns += now(CLOCK_THREAD_CPUTIME_ID) - w->cpu;
}

#define WAIT_UNTIL(t, condition) \
	do { \
		if (UNLIKELY(!(condition))) { \
			struct waiting w_ = {0, 0, 0}; \
			do \
				wait_more(&w_); \
			while (!(condition)); \
			wait_ended(t, &w_); \
		} \
	} while (0)

// ---------------------------------------------------------------------------------------------------------------------
// Epochs

static void sample(u64 epoch)
{
	if (epoch >= room_for_samples)
		return;
	// Reading the PSS takes milliseconds if much is resident.
	if (epoch % (head.epochs / 64 + 1) == 0)
		result->samples[epoch].rss = exact_rss(&result->samples[epoch].pss);
	else
		result->samples[epoch].rss = rss();
}

// Ends the epochs that all of their threads have left.
static void advance(void)
{
	for (;;) {
		u64 at = __atomic_load_n(&complete, __ATOMIC_SEQ_CST), next = at;
		if (at >= head.epochs || __atomic_load_n(&epoch_left[at], __ATOMIC_SEQ_CST) < epoch_threads[at])
			return;
		if (!__atomic_compare_exchange_n(&complete, &next, at + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		__atomic_store_n(&result->progress, at + 1, __ATOMIC_RELAXED);
		if (mode == MODE_MEMORY)
			sample(at);
	}
}

static void change_epoch(struct thread *t, u32 left, u32 entered)
{
	if (left != NO_EPOCH) {
		if (left >= head.epochs)
			bad_plan("an epoch");
		__atomic_fetch_add(&epoch_left[left], 1, __ATOMIC_SEQ_CST);
		advance();
	}
	if (entered != NO_EPOCH && window && entered > window)
		WAIT_UNTIL(t, __atomic_load_n(&complete, __ATOMIC_ACQUIRE) >= entered - window);
}

// ---------------------------------------------------------------------------------------------------------------------
// Times of calls

static u32 class_of(u64 size)
{
	u32 bits = size < 2 ? 0 : 64 - (u32)__builtin_clzll(size - 1); // 2^bits is at least the size
	static const u8 class[] = {0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6};
	return bits < sizeof class ? class[bits] : SIZE_CLASSES - 1;
}

static u32 bucket_of(u64 cycles)
{
	if (cycles < 16)
		return (u32)cycles;
	u32 top = 63 - (u32)__builtin_clzll(cycles);
	u32 bucket = (top - 3) * 16 + (u32)(cycles >> (top - 4) & 15);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static void note_time(u64 cycles, u32 processor, enum call call, u32 class)
{
	struct times *t = &times[processor % PROCESSORS][call][class];
	__atomic_fetch_add(&t->buckets[bucket_of(cycles)], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, cycles, __ATOMIC_RELAXED);
	u64 most = __atomic_load_n(&t->most, __ATOMIC_RELAXED);
	while (cycles > most &&
	       !__atomic_compare_exchange_n(&t->most, &most, cycles, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

INLINE u64 clock_before(void)
{
	u32 processor;
	u64 t = __rdtscp(&processor);
	_mm_lfence();
	return t;
}

// ---------------------------------------------------------------------------------------------------------------------
// Playing

static COLD _Noreturn void returned_null(u64 size)
{
	finish(STATUS_NULL, size, "");
}

// Puts a block into a slot whose entry was e. An allocator may return null for no bytes.
INLINE void fill(u64 *slot, u64 e, void *p, u64 size)
{
	u64 address = (u64)p & ADDRESS;
	if (UNLIKELY(p == 0)) {
		if (size)
			returned_null(size);
		address = 1;
	}
	__atomic_store_n(slot, ((e & ~(FILLED - 1)) + FILLED) | address, __ATOMIC_RELEASE);
}

// Runs of a block's pages, each of two words: the first page, counting from that of the first byte, and how many.
struct runs {
	const u32 *words; // null: all pages
	u32 count;
};

static void touch_runs(u64 block, u64 size, struct runs runs)
{
	for (u32 i = 0; i < runs.count; i++) {
		u64 at = (block & ~(page - 1)) + runs.words[2 * i] * page;
		for (u32 n = runs.words[2 * i + 1]; n > 0 && at < block + size; n--, at += page)
			*(volatile u8 *)(at < block ? block : at) = 1;
	}
}

INLINE void touch_block(void *p, u64 from, u64 size, enum touch how, struct runs *runs)
{
	struct runs wanted = *runs;
	runs->words = 0;
	if (how == TOUCH_RECORDED && wanted.words) {
		if (UNLIKELY(p == 0 && size))
			returned_null(size);
		touch_runs((u64)p, size, wanted);
		return;
	}
	if (how == TOUCH_NONE || from >= size)
		return;
	volatile u8 *b = p;
	if (UNLIKELY(p == 0))
		returned_null(size);
	if (how == TOUCH_FIRST) {
		if (from == 0)
			b[0] = 1;
		return;
	}
	for (; from < size; from = (from | (stride - 1)) + 1)
		b[from] = 1;
	b[size - 1] = 1;
}

// Touches a new block from a byte on, and puts it into a slot whose entry was e. Once it is there, others may free it.
INLINE void allocated(u32 slot, u64 e, void *p, u64 from, u64 size, const int timed, enum touch how, struct runs *runs)
{
	if (timed)
		classes[slot] = (u8)class_of(size);
	touch_block(p, from, size, how, runs);
	if (how >= TOUCH_ALL)
		sizes[slot] = size;
	fill(&slots[slot], e, p, size);
}

static void *allocate_aligned(u64 align, u64 size, u32 function)
{
	void *p = 0;
	switch (function) {
	case FUNCTION_POSIX_MEMALIGN:
		return posix_memalign(&p, align, size) ? 0 : p;
	case FUNCTION_ALIGNED_ALLOC:
		return aligned_alloc(align, size);
	default:
		return memalign(align, size);
	}
}

static void spawn(u32 number);
static void end_thread(struct thread *t, u32 number);

static void wait_for_time(struct thread *t, u64 ns)
{
	ns += result->begin_ns;
	struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	u64 before = __rdtsc();
	while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) != 0 && errno == EINTR)
		;
	t->waits++;
	t->wait_tsc += __rdtsc() - before;
}

// What comes before here was not to be measured.
static COLD void begin(struct thread *t, u64 epoch)
{
	WAIT_UNTIL(t, __atomic_load_n(&complete, __ATOMIC_ACQUIRE) >= epoch);
	memset(t->calls, 0, sizeof t->calls);
	t->waits = t->wait_tsc = t->wait_cpu_tsc = t->wait_cpu_ns = 0;
	t->cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
	if (t->number == 0) {
		result->begin_ns = now(CLOCK_MONOTONIC);
		result->begin_tsc = __rdtsc();
		result->process_cpu_ns = process_cpu();
		getrusage(RUSAGE_SELF, &usage);
	}
}

#define SLOT(s) \
	({ \
		u32 s_ = (s); \
		if (UNLIKELY(s_ >= head_slots)) \
			bad_plan("a slot"); \
		s_; \
	})
// The clock is read around the call, if wanted.
#define TIMED(call, class, statement) \
	do { \
		if (timed) { \
			u32 processor_; \
			u64 before_ = clock_before(); \
			statement; \
			u64 after_ = __rdtscp(&processor_); \
			_mm_lfence(); \
			note_time(after_ - before_, processor_ & 0xfff, call, class); \
		} else { \
			statement; \
		} \
	} while (0)

// Plays the words of a chunk.
INLINE void play(struct thread *t, const u32 *w, const u32 *end, const int timed, const enum touch how)
{
	const u32 head_slots = head.slots;
	u64 *const table = slots;
	struct runs runs = {0, 0};
	u64 large = 0, e, size, touched;
	u32 s, to;
	void *p;
	while (w < end) {
		u32 arg = *w >> PLAN_OP_BITS;
		switch (*w & PLAN_OP_MASK) {
		case OP_FREE:
			s = SLOT(arg);
			e = table[s];
			__atomic_store_n(&table[s], e & ~(FILLED - 1), __ATOMIC_RELEASE);
			p = (void *)(e & ADDRESS);
			TIMED(CALL_FREE, classes[s], free(p));
			t->calls[CALL_FREE]++;
			w++;
			break;
		case OP_FREE_OF_OTHER: {
			s = SLOT(arg);
			u64 filled = w[1];
			WAIT_UNTIL(t, ((e = __atomic_load_n(&table[s], __ATOMIC_ACQUIRE)) >> 48) == filled &&
					      (e & (FILLED - 1)) != 0);
			u32 class = timed ? classes[s] : 0;
			__atomic_store_n(&table[s], e & ~(FILLED - 1), __ATOMIC_RELEASE);
			p = (void *)(e & ADDRESS);
			TIMED(CALL_FREE_OF_OTHER, class, free(p));
			t->calls[CALL_FREE_OF_OTHER]++;
			w += 2;
			break;
		}
		case OP_MALLOC:
			s = SLOT(arg);
			size = w[1] | large;
			large = 0;
			e = table[s];
			TIMED(CALL_MALLOC, class_of(size), p = malloc(size));
			allocated(s, e, p, 0, size, timed, how, &runs);
			t->calls[CALL_MALLOC]++;
			w += 2;
			break;
		case OP_CALLOC:
			s = SLOT(arg);
			size = (w[1] | large) * w[2];
			e = table[s];
			TIMED(CALL_CALLOC, class_of(size), p = calloc(w[2], w[1] | large));
			large = 0;
			allocated(s, e, p, 0, size, timed, how, &runs);
			t->calls[CALL_CALLOC]++;
			w += 3;
			break;
		case OP_REALLOC_OF_OTHER:
		case OP_REALLOC:
			s = SLOT(arg);
			to = SLOT(w[1]);
			size = w[2] | large;
			large = 0;
			if ((*w & PLAN_OP_MASK) == OP_REALLOC_OF_OTHER) {
				u64 filled = w[3];
				WAIT_UNTIL(t, ((e = __atomic_load_n(&table[s], __ATOMIC_ACQUIRE)) >> 48) == filled &&
						      (e & (FILLED - 1)) != 0);
				w++;
			} else {
				e = table[s];
			}
			touched = how >= TOUCH_ALL ? sizes[s] : 1;
			TIMED(CALL_REALLOC, class_of(size), p = realloc((void *)(e & ADDRESS), size));
			if (to != s) {
				__atomic_store_n(&table[s], e & ~(FILLED - 1), __ATOMIC_RELEASE);
				e = table[to];
			}
			allocated(to, e, p, touched, size, timed, how, &runs);
			t->calls[CALL_REALLOC]++;
			w += 3;
			break;
		case OP_ALIGNED: {
			s = SLOT(arg);
			size = w[1] | large;
			large = 0;
			e = table[s];
			u64 align = 1ull << (w[2] & 63);
			u32 function = w[2] >> 8;
			TIMED(CALL_ALIGNED, class_of(size), p = allocate_aligned(align, size, function));
			allocated(s, e, p, 0, size, timed, how, &runs);
			t->calls[CALL_ALIGNED]++;
			w += 3;
			break;
		}
		case OP_WAIT_EMPTY:
			s = SLOT(arg);
			WAIT_UNTIL(t, (__atomic_load_n(&table[s], __ATOMIC_ACQUIRE) & (FILLED - 1)) == 0);
			w++;
			break;
		case OP_LARGE:
			large = (u64)arg << 32;
			w++;
			break;
		case OP_EPOCH:
			change_epoch(t, w[1], w[2]);
			w += 3;
			break;
		case OP_TURN: {
			u32 want = w[1];
			WAIT_UNTIL(t, __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == want);
			w += 2;
			break;
		}
		case OP_PASS:
			__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
			w++;
			break;
		case OP_SPAWN:
			spawn(arg);
			w++;
			break;
		case OP_TIME:
			wait_for_time(t, w[1] | (u64)w[2] << 32);
			w += 3;
			break;
		case OP_BEGIN:
			begin(t, w[1]);
			w += 2;
			break;
		case OP_POOL:
			size = (u64)w[1] + w[2];
			if (UNLIKELY(arg >= head.chunks || size > POOL_CHUNK))
				bad_plan("a block of a pool");
			if (UNLIKELY(!chunks[arg])) {
				TIMED(CALL_MALLOC, class_of(POOL_CHUNK), p = malloc(POOL_CHUNK));
				if (UNLIKELY(!p))
					returned_null(POOL_CHUNK);
				chunks[arg] = p;
				t->calls[CALL_MALLOC]++;
			}
			touch_block(chunks[arg] + w[1], 0, w[2], how, &runs);
			w += 3;
			break;
		case OP_TOUCH:
			if (UNLIKELY((u64)(end - w) < 1 + 2 * (u64)arg))
				bad_plan("the pages of a block");
			runs = (struct runs){w + 1, arg};
			w += 1 + 2 * (u64)arg;
			break;
		case OP_KEPT:
			touch_block(t->kept, 0, w[1] < sizeof t->kept ? w[1] : sizeof t->kept, how, &runs);
			w += 2;
			break;
		case OP_END:
			end_thread(t, arg);
			w++;
			break;
		default:
			bad_plan("an operation");
		}
	}
	if (w != end)
		bad_plan("the end of a chunk");
}

#define PLAYS(name, timed, how) \
	static __attribute__((noinline)) void name(struct thread *t, const u32 *w, const u32 *end) \
	{ \
		play(t, w, end, timed, how); \
	}
PLAYS(play_none, 0, TOUCH_NONE)
PLAYS(play_first, 0, TOUCH_FIRST)
PLAYS(play_all, 0, TOUCH_ALL)
PLAYS(play_recorded, 0, TOUCH_RECORDED)
PLAYS(time_none, 1, TOUCH_NONE)
PLAYS(time_first, 1, TOUCH_FIRST)
PLAYS(time_all, 1, TOUCH_ALL)
PLAYS(time_recorded, 1, TOUCH_RECORDED)

static void (*const players[2][4])(struct thread *, const u32 *, const u32 *) = {
	{play_none, play_first, play_all, play_recorded},
	{time_none, time_first, time_all, time_recorded},
};

// Plays all chunks of a thread.
static void play_thread(u32 number)
{
	struct thread t; // without the kept buffer, which is only touched if it is needed
	memset(&t, 0, offsetof(struct thread, kept));
	t.number = number;
	// An operation that a plan cuts short at the end of its chunk reads beyond the end.
	_Alignas(16) u8 buffer[PLAN_CHUNK + 64];
	struct plan_chunk *chunk = (struct plan_chunk *)buffer;
	char name[16] = "replay-";
	u32 digits = 1;
	for (u32 n = number; n >= 10; n /= 10)
		digits++;
	for (u32 i = 0, n = number; i < digits; i++, n /= 10)
		name[6 + digits - i] = (char)('0' + n % 10);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1000); // ns that a sleep may be longer than it should; 50,000 else
	memset(buffer, 0, sizeof buffer);
	t.cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
	for (u64 at = threads[number].first, before = 0; at; at = chunk->next) {
		if (at <= before) // they are in order: so there is an end
			bad_plan("the order of chunks");
		before = at;
		ssize_t n = pread(plan_file, buffer, PLAN_CHUNK, (off_t)at);
		if (n < (ssize_t)sizeof *chunk || chunk->thread != number ||
		    chunk->words > ((u64)n - sizeof *chunk) / sizeof(u32))
			bad_plan("a chunk");
		const u32 *w = (const u32 *)(chunk + 1);
		players[mode == MODE_LATENCY][touch](&t, w, w + chunk->words);
	}
	struct result *r = result;
	u64 cpu = now(CLOCK_THREAD_CPUTIME_ID) - t.cpu_begin;
	__atomic_fetch_add(&r->cpu_ns, cpu, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->waits, t.waits, __ATOMIC_RELAXED);
	// In cycles, until the end.
	__atomic_fetch_add(&r->wait_ns, t.wait_tsc, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->detail, t.wait_cpu_tsc, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->wait_cpu_ns, t.wait_cpu_ns, __ATOMIC_RELAXED);
	for (u32 i = 0; i < CALLS; i++)
		__atomic_fetch_add(&r->calls[i], t.calls[i], __ATOMIC_RELAXED);
}

static void *thread_main(void *argument)
{
	u32 number = (u32)(u64)argument;
	u32 *state = &lives[number].state;
	play_thread(number);
	__atomic_fetch_sub(&playing, 1, __ATOMIC_RELEASE);
	if (threads[number].stays)
		for (u32 at; (at = __atomic_load_n(state, __ATOMIC_ACQUIRE)) != LIFE_TO_END;)
			syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, at, 0, 0, 0);
	return 0;
}

#define STACK (256u << 10)
static u8 *stacks; // when system calls are counted

static void spawn(u32 number)
{
	pthread_attr_t attr;
	u32 none = LIFE_NONE;
	if (number == 0 || number >= head.threads ||
	    !__atomic_compare_exchange_n(&lives[number].state, &none, LIFE_SPAWNING, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		bad_plan("a thread");
	__atomic_fetch_add(&playing, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&result->threads, 1, __ATOMIC_RELAXED);
	pthread_attr_init(&attr);
	if (stacks) // which no system calls of libc get and return: only the allocator's are counted
		pthread_attr_setstack(&attr, stacks + (u64)number * STACK, STACK);
	else
		pthread_attr_setstacksize(&attr, STACK);
	errno = pthread_create(&lives[number].id, &attr, thread_main, (void *)(u64)number);
	if (errno)
		failed("starting a thread");
	pthread_attr_destroy(&attr);
	if (threads[number].stays)
		__atomic_store_n(&lives[number].state, LIFE_STARTED, __ATOMIC_RELEASE);
	else
		pthread_detach(lives[number].id);
}

// Allocators flush a thread's cache when it ends. What comes next in the order finds that done.
static COLD void end_thread(struct thread *t, u32 number)
{
	if (number == 0 || number >= head.threads || number == t->number || !threads[number].stays)
		bad_plan("the end of a thread");
	u32 *state = &lives[number].state, at;
	WAIT_UNTIL(t, (at = __atomic_load_n(state, __ATOMIC_ACQUIRE)) >= LIFE_STARTED);
	if (!__atomic_compare_exchange_n(state, &at, LIFE_TO_END, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
	    at == LIFE_TO_END)
		bad_plan("the end of a thread");
	u64 before = __rdtsc();
	syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	pthread_join(lives[number].id, 0);
	t->waits++;
	t->wait_tsc += __rdtsc() - before;
}

// ---------------------------------------------------------------------------------------------------------------------
// Before and after

static void *reserve(u64 size)
{
	void *p = mmap(0, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		failed("reserving memory for the plan's tables");
	result->tables += (size + page - 1) & ~(page - 1);
	return p;
}

static void *read_table(u64 at, u64 size)
{
	u8 *p = reserve(size);
	for (u64 done = 0; done < size;) {
		ssize_t n = pread(plan_file, p + done, size - done, (off_t)(at + done));
		if (n <= 0)
			bad_plan("a table");
		done += (u64)n;
	}
	return p;
}

static int is_inside(u64 at, u64 count, u64 each)
{
	return at <= head.size && count * each <= head.size - at;
}

static void read_plan(const char *path)
{
	plan_file = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = plan_file < 0 ? -1 : lseek(plan_file, 0, SEEK_END);
	if (size < 0)
		failed("opening the plan");
	if (pread(plan_file, &head, sizeof head, 0) != sizeof head || head.magic != PLAN_MAGIC ||
	    head.size != (u64)size || head.threads == 0 || head.slots > PLAN_SLOTS ||
	    head.slots > head.size / 8 || // an operation of two words fills a slot
	    head.chunks > head.size / 12 || !is_inside(head.threads_at, head.threads, sizeof *threads) ||
	    !is_inside(head.epochs_at, head.epochs, sizeof *epoch_threads))
		bad_plan("its head");
	threads = read_table(head.threads_at, (u64)head.threads * sizeof *threads);
	epoch_threads = read_table(head.epochs_at, (u64)head.epochs * sizeof *epoch_threads);
	epoch_left = reserve((u64)head.epochs * sizeof *epoch_left);
	lives = reserve((u64)head.threads * sizeof *lives);
	slots = reserve((u64)head.slots * sizeof *slots);
	chunks = reserve((u64)head.chunks * sizeof *chunks);
}

static int has_malloc(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (u32 i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		u64 start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (u64)&malloc >= start && (u64)&malloc < start + p->p_memsz) {
			strncpy(result->library, info->dlpi_name, sizeof result->library - 1);
			return 1;
		}
	}
	return 0;
}

// The allocators' own functions, if they are there.
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern const char *tc_version(int *, int *, const char **) __attribute__((weak));
extern int mi_version(void) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static void note_allocator(void)
{
	const char *version = 0;
	char digits[16];
	dl_iterate_phdr(has_malloc, 0);
	if (mallctl) {
		size_t size = sizeof version;
		if (mallctl("version", &version, &size, 0, 0) != 0)
			version = 0;
	} else if (tc_version) {
		version = tc_version(0, 0, 0);
	} else if (mi_version) {
		int v = mi_version(); // 209 is 2.0.9; 30102, of later ones, is 3.1.2
		int parts[3] = {v / 100, v / 10 % 10, v % 10};
		if (v >= 10000) {
			parts[0] = v / 10000;
			parts[1] = v / 100 % 100;
			parts[2] = v % 100;
		}
		char *p = digits;
		for (u32 i = 0; i < 3; i++) {
			if (i)
				*p++ = '.';
			if (parts[i] >= 10)
				*p++ = (char)('0' + parts[i] / 10 % 10);
			*p++ = (char)('0' + parts[i] % 10);
		}
		*p = 0;
		version = digits;
	} else if (strstr(result->library, "libc.so") && gnu_get_libc_version) {
		version = gnu_get_libc_version();
	}
	if (version)
		strncpy(result->version, version, sizeof result->version - 1);
}

static void sum_times(void)
{
	for (u32 p = 0; p < PROCESSORS; p++)
		for (u32 call = 0; call < CALLS; call++)
			for (u32 class = 0; class < SIZE_CLASSES; class ++) {
				struct times *to = &result->times[call][class], *from = &times[p][call][class];
				to->sum += from->sum;
				to->most = from->most > to->most ? from->most : to->most;
				for (u32 i = 0; i < BUCKETS; i++)
					to->buckets[i] += from->buckets[i];
			}
}

static int choose(const char *word, const char *const *words, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	_exit(2);
}

__attribute__((visibility("hidden"))) int player_main(int argc, char **argv)
{
	static const char *const modes[] = {"time", "latency", "memory", "calls"};
	static const char *const touches[] = {"none", "first", "all", "recorded"};
	static const char *const rests[] = {"keep", "free"};
	struct rusage after;
	if (argc != 6)
		_exit(2);
	int file = open(argv[2], O_RDWR | O_CLOEXEC);
	off_t size = file < 0 ? -1 : lseek(file, 0, SEEK_END);
	if (size < (off_t)sizeof *result)
		_exit(2);
	result = mmap(0, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
	if (result == MAP_FAILED)
		_exit(2);
	room_for_samples = ((u64)size - sizeof *result) / sizeof result->samples[0];
	mode = (enum mode)choose(argv[3], modes, 4);
	touch = (enum touch)choose(argv[4], touches, 4);
	int rest = choose(argv[5], rests, 2);
	statm_file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	rollup_file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	note_allocator();
	read_plan(argv[1]);
	stride = mode == MODE_MEMORY ? page : 64;
	window = mode == MODE_TIME || mode == MODE_LATENCY ? head.timed_window : head.window;
	if (mode == MODE_LATENCY) {
		classes = reserve(head.slots);
		times = reserve(PROCESSORS * sizeof *times);
	}
	if (mode == MODE_CALLS) {
		stacks = mmap(0, (u64)head.threads * STACK, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (stacks == MAP_FAILED)
			failed("reserving memory for stacks");
	}
	if (touch >= TOUCH_ALL)
		sizes = reserve((u64)head.slots * sizeof *sizes);
	u64 pss;
	result->rss_start = exact_rss(&pss);
	if (mode == MODE_CALLS && count_calls(result->system_calls) < 0)
		failed("counting system calls");

	getrusage(RUSAGE_SELF, &usage);
	result->process_cpu_ns = process_cpu();
	result->begin_ns = now(CLOCK_MONOTONIC);
	result->begin_tsc = __rdtsc();
	advance();
	play_thread(0);
	while (__atomic_load_n(&playing, __ATOMIC_ACQUIRE) != 0) {
		struct timespec t = {0, 100000};
		nanosleep(&t, 0);
	}
	result->end_tsc = __rdtsc();
	result->end_ns = now(CLOCK_MONOTONIC);
	result->process_cpu_ns = process_cpu() - result->process_cpu_ns;
	getrusage(RUSAGE_SELF, &after);
	result->minor_faults = (u64)(after.ru_minflt - usage.ru_minflt);
	result->major_faults = (u64)(after.ru_majflt - usage.ru_majflt);
	count_no_more();

	double ns = (double)(result->end_ns - result->begin_ns) / (double)(result->end_tsc - result->begin_tsc + 1);
	result->wait_ns = (u64)((double)result->wait_ns * ns);
	result->wait_cpu_ns += (u64)((double)result->detail * ns);
	result->rss_end = exact_rss(&result->pss_end);
	if (rest) {
		for (u32 i = 0; i < head.slots; i++)
			if (slots[i] & ADDRESS)
				free((void *)(slots[i] & ADDRESS));
		for (u32 i = 0; i < head.chunks; i++)
			free(chunks[i]);
	}
	result->rss_freed = exact_rss(&pss);
	result->rss_peak = peak_rss();
	if (mode == MODE_LATENCY)
		sum_times();
	finish(STATUS_DONE, 0, "");
}
