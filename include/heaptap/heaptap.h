// SPDX-License-Identifier: Apache-2.0
//
// heaptap.h: a program, its framework or its tests talk to heaptap. C99 and C++; nothing to link with.
//
//     #include <heaptap/heaptap.h>
//
//     heaptap_region_begin("load", NULL, 0);
//     load(file);
//     heaptap_region_end("load");
//
// The functions look for the agent once, when the program or plugin that was compiled with this header is loaded. Without
// the agent (the program does not run under heaptap) each is a load and a branch and does nothing; those that return
// something say below what. With glibc before 2.34, link with -ldl: without it the agent is not found.
//
// Where a function may be called is said by these words:
//   anywhere    in any thread, in signal handlers, in a monitor's callbacks, before main and during exit
//   no handler  the same, but not in a signal handler
// Nothing here allocates, locks or changes errno. Everything is answered by the agent itself, and no recorder is needed, but
// for the two functions under "The recorder".
//
// The ABI: the agent exports one function, heaptap_api, which returns a table of functions. Members are only ever added at its
// end, and whoever passes a struct passes its size. So an older program meets a newer agent; an agent that is older than the
// header counts as not loaded.
#ifndef HEAPTAP_H
#define HEAPTAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPTAP_VERSION 1

// What functions return that can fail.
#define HEAPTAP_OK 0
#define HEAPTAP_NOT_LOADED (-1) // the program does not run under heaptap, or this child of it is not recorded
#define HEAPTAP_INVALID \
	(-2) // an argument that makes no sense: a measure of another thread or that has ended, an unknown monitor
#define HEAPTAP_FULL (-3) // more at once than the agent has room for
#define HEAPTAP_RUNNING (-4) // done, but callbacks may still be running, see heaptap_monitor_remove
#define HEAPTAP_NO_RECORDER \
	(-5) // nobody takes in what is recorded, or no longer: plain preloading, a recorder that has died
#define HEAPTAP_TIMEOUT (-6) // the recorder has not answered in time

// Measures ------------------------------------------------------------------------------------------------------------

#define HEAPTAP_THREAD 0 // what the calling thread does
#define HEAPTAP_PROCESS 1 // what all threads of the process do
#define HEAPTAP_EXCLUSIVE 2 // with HEAPTAP_THREAD: what happens in it does not count in the thread's outer measures
#define HEAPTAP_MEASURES 32 // so many may be nested in a thread, and as many process-wide ones run at once

// What happened between the begin of a measure and its end. Usable bytes are what the allocator has set aside for a block,
// as malloc_usable_size tells; never less than was requested. A realloc is a deallocation and an allocation, one that fails
// nothing. What fails is not counted; nor is what a monitor's callback does.
struct heaptap_measured {
	uint64_t allocations;
	uint64_t deallocations; // of blocks from before the measure, too
	uint64_t requested; // bytes that were asked for, of the allocations
	uint64_t allocated; // usable bytes of the allocations
	uint64_t deallocated; // usable bytes of the deallocations
	int64_t added; // allocated - deallocated: usable bytes after minus before
	int64_t highest; // of the running balance, in usable bytes; it begins with 0, so this is the peak above the start
	int64_t lowest; // of the running balance, never above 0
	uint64_t largest; // requested bytes of the largest single allocation
};

// Monitors ------------------------------------------------------------------------------------------------------------

#define HEAPTAP_MONITORS 16 // so many may be registered at once

// Functions to be called for each allocation and deallocation, in the thread that makes it: for an allocation after the real
// function has returned, for a deallocation before it is called; realloc is both, and if it fails, the block is reported as
// allocated again, with the usable size as requested. They run in several threads at the same time, and in signal handlers
// that allocate. What they themselves allocate and free is recorded as everything, but neither reported to monitors nor measured.
// They must not throw nor longjmp, and must keep away from locks that others hold while they allocate.
struct heaptap_monitor {
	void (*allocated)(size_t requested, size_t usable, const void *address, void *user); // or NULL
	void (*deallocated)(size_t usable, const void *address, void *user); // or NULL
	void *user; // handed to both
};

// The recorder --------------------------------------------------------------------------------------------------------

// What is live of what was recorded of this process.
struct heaptap_live {
	uint64_t bytes; // requested
	uint64_t blocks;
};

// Pools ---------------------------------------------------------------------------------------------------------------

typedef uint64_t heaptap_pool_id; // 0: none, and all that is said of it goes unheard

// The table -----------------------------------------------------------------------------------------------------------

struct heaptap_api {
	uint32_t size; // of the table that the agent has
	uint32_t version; // HEAPTAP_VERSION of the agent
	int (*active)(void);
	int (*start)(void);
	int (*stop)(void);
	void (*pause)(void);
	void (*resume)(void);
	void (*mark)(const char *name);
	void (*region_begin)(const char *name, const int64_t *ids, size_t count);
	void (*region_end)(const char *name);
	void (*thread_name)(const char *name);
	void (*range_name)(const void *start, size_t size, const char *name);
	int64_t (*measure_begin)(unsigned flags);
	int (*measure_read)(int64_t measure, struct heaptap_measured *out, size_t size);
	int (*measure_end)(int64_t measure, struct heaptap_measured *out, size_t size);
	int (*monitor_add)(const struct heaptap_monitor *monitor, size_t size);
	int (*monitor_remove)(int monitor);
	void (*hide)(void);
	void (*unhide)(void);
	int (*live)(struct heaptap_live *out, size_t size, unsigned timeout);
	int (*dump)(int fd, const char *what, unsigned timeout);
	heaptap_pool_id (*pool_create)(const char *name);
	heaptap_pool_id (*pool_serve)(heaptap_pool_id pool);
	void (*pool_backing)(heaptap_pool_id pool, const void *block, size_t size);
	void (*pool_alloc)(heaptap_pool_id pool, const void *address, size_t size);
	void (*pool_free)(heaptap_pool_id pool, const void *address);
	void (*pool_move)(heaptap_pool_id pool, const void *from, const void *to, size_t size);
	void (*pool_clear)(heaptap_pool_id pool);
	void (*pool_destroy)(heaptap_pool_id pool);
	void *(*shared)(const char *name, size_t size);
	uint64_t (*thread)(void);
	uint32_t (*stack)(const void *address);
};

// The only symbol of the agent that programs use: the table, which stays where it is, or NULL if it has fewer than `size`
// bytes or if the agent has stepped aside. From other languages: look this symbol up by dlsym and call it.
typedef const struct heaptap_api *heaptap_api_function(size_t size);

// heaptap_shared's name of a uint32_t: not 0, compat/alloc_monitor.h's monitors are not called.
#define HEAPTAP_ALLOC_MONITOR_STOPPED "alloc_monitor stopped"

#ifndef HEAPTAP_AGENT // which includes this file for what is above

// One for the program or plugin, however many of its files include this header. Not hidden: a library may run inline functions that the
// dynamic linker has found in the executable, or in another library, before that one's constructors have run.
__attribute__((weak, visibility("default"))) const struct heaptap_api *heaptap_table;

static void *heaptap_dlsym(void *, const char *) __attribute__((weakref("dlsym")));
static char *heaptap_dlerror(void) __attribute__((weakref("dlerror")));

// Before all constructors without a priority, and so before static objects of C++. A weak reference to heaptap_api itself
// would stay unresolved in a program that is not position-independent.
__attribute__((constructor(101), unused)) static void heaptap_look(void)
{
	union {
		void *symbol;
		heaptap_api_function *function;
	} api;
	if (heaptap_table || !heaptap_dlsym)
		return;
	api.symbol = heaptap_dlsym(NULL /* RTLD_DEFAULT */, "heaptap_api");
	if (api.symbol)
		heaptap_table = api.function(sizeof(struct heaptap_api));
	else if (heaptap_dlerror)
		heaptap_dlerror(); // what the program asks for later is not our failure
}

#define HEAPTAP_CALL(otherwise, call) (__builtin_expect(heaptap_table != NULL, 0) ? heaptap_table->call : (otherwise))

// State ---------------------------------------------------------------------------------------------------------------

// 1 if the program runs under heaptap, else 0. Anywhere.
static inline int heaptap_loaded(void)
{
	return heaptap_table != NULL;
}

// HEAPTAP_VERSION of the agent; 0 if it is not loaded. Anywhere.
static inline int heaptap_version(void)
{
	return heaptap_table ? (int)heaptap_table->version : 0;
}

// 1 if allocations of the calling thread are being recorded (or sampled, or counted); 0 if recording is stopped, or paused in
// this thread, or the agent is not loaded. Anywhere.
static inline int heaptap_active(void)
{
	return HEAPTAP_CALL(0, active());
}

// Starts recording, in the mode that it had before it was stopped or was to have at the start of the program; stops it. At once
// and for the whole process, and for those that it has forked or was forked from without exec. While it is stopped, new allocations
// are ignored; deallocations of recorded blocks go on being recorded. HEAPTAP_OK or HEAPTAP_NOT_LOADED. Anywhere.
static inline int heaptap_start(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, start());
}
static inline int heaptap_stop(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, stop());
}

// Excludes what the calling thread allocates until the resume that belongs to it: pairs nest, and a resume too many does
// nothing. Deallocations of recorded blocks go on being recorded. Anywhere.
static inline void heaptap_pause(void)
{
	HEAPTAP_CALL((void)0, pause());
}
static inline void heaptap_resume(void)
{
	HEAPTAP_CALL((void)0, resume());
}

// Names ---------------------------------------------------------------------------------------------------------------
// Texts are UTF-8, copied, and cut after HEAPTAP_NAME_MAX bytes. A NULL is an empty text.
#define HEAPTAP_NAME_MAX 1000

// Gives this moment a name. Anywhere.
static inline void heaptap_mark(const char *name)
{
	HEAPTAP_CALL((void)0, mark(name));
}

// The calling thread enters a region: a named, nested span of its time, in which it can be asked later what it allocated. Up to
// four ids (event, module, phase ...) tell apart those with the same name; of more, the first four count. Any number may be
// nested. A region that is left open ends with its thread. After fork, the child goes on in the regions of the thread that
// forked. Anywhere.
static inline void heaptap_region_begin(const char *name, const int64_t *ids, size_t count)
{
	HEAPTAP_CALL((void)0, region_begin(name, ids, count));
}

// The calling thread leaves the innermost region of that name, and all that it has entered since; if there is none, nothing
// happens. Anywhere.
static inline void heaptap_region_end(const char *name)
{
	HEAPTAP_CALL((void)0, region_end(name));
}

// The calling thread is called so from here on, in the recording; the kernel's name of it stays. Anywhere.
static inline void heaptap_thread_name(const char *name)
{
	HEAPTAP_CALL((void)0, thread_name(name));
}

// The bytes from `start` on are called so, until they are named anew. Anywhere.
static inline void heaptap_range_name(const void *start, size_t size, const char *name)
{
	HEAPTAP_CALL((void)0, range_name(start, size, name));
}

// Measures ------------------------------------------------------------------------------------------------------------

// Begins a measure: HEAPTAP_THREAD or HEAPTAP_PROCESS, and HEAPTAP_EXCLUSIVE if wanted. Returns what the other two functions
// ask for, above 0; or HEAPTAP_NOT_LOADED, HEAPTAP_FULL, or HEAPTAP_INVALID. No handler.
// Counts and bytes are exact whatever heaptap records, stopped and sampled too. A thread's measures nest: to end one ends those that were begun
// after it. A measure of the process sees what other threads do from when they can know of it; its counts and its balance are
// exact as soon as these have come to rest.
static inline int64_t heaptap_measure_begin(unsigned flags)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_begin(flags));
}

static inline struct heaptap_measured heaptap_nothing(void)
{
	static const struct heaptap_measured nothing = {0, 0, 0, 0, 0, 0, 0, 0, 0};
	return nothing;
}

// What has happened since its begin; inner measures that count are in it. Returns HEAPTAP_OK; or HEAPTAP_NOT_LOADED or HEAPTAP_INVALID,
// and then all is 0. A measure of a thread is read and ended by that thread only. No handler.
static inline int heaptap_measure_read(int64_t measure, struct heaptap_measured *out)
{
	*out = heaptap_nothing();
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_read(measure, out, sizeof(*out)));
}

// The same, and ends it.
static inline int heaptap_measure_end(int64_t measure, struct heaptap_measured *out)
{
	*out = heaptap_nothing();
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_end(measure, out, sizeof(*out)));
}

// One for the process -------------------------------------------------------------------------------------------------
// A header may be compiled into an executable, its libraries and its plugins, each of which then has static variables of its own. What all of
// them are to share lies here.

// Memory that is the same for all who ask for this name and size, and zero before. It stays for ever; a forked child has a copy. The name
// is at most 63 bytes long and names the layout, with its version. NULL without the agent, or without memory. Anywhere.
static inline void *heaptap_shared(const char *name, size_t size)
{
	return HEAPTAP_CALL(NULL, shared(name, size));
}

// The calling thread's number, which no other thread of the process ever gets; 0 without the agent. Anywhere.
static inline uint64_t heaptap_thread(void)
{
	return HEAPTAP_CALL(0, thread());
}

// Monitors ------------------------------------------------------------------------------------------------------------

// Registers a monitor, which is copied. Returns its number, above 0; or HEAPTAP_NOT_LOADED, HEAPTAP_FULL, or HEAPTAP_INVALID. Other
// threads' events that are under way may not be reported. No handler.
static inline int heaptap_monitor_add(const struct heaptap_monitor *monitor)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_add(monitor, sizeof(*monitor)));
}

// No callback of the monitor begins any more, and those that run are waited for: when HEAPTAP_OK is returned, nobody uses `user`
// any longer. From within a callback of any monitor nobody is waited for, since two could wait for each other: then
// HEAPTAP_RUNNING is returned, and heaptap_monitor_wait from outside does the waiting. Else HEAPTAP_NOT_LOADED or
// HEAPTAP_INVALID. No handler.
static inline int heaptap_monitor_remove(int monitor)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_remove(monitor));
}

// Waits for callbacks of monitors that have been removed. Returns as heaptap_monitor_remove. No handler.
static inline int heaptap_monitor_wait(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_remove(0));
}

// Until the unhide that belongs to it, what the calling thread does is neither reported to monitors nor measured, as in a
// callback; it is recorded. Pairs nest. Anywhere.
static inline void heaptap_hide(void)
{
	HEAPTAP_CALL((void)0, hide());
}
static inline void heaptap_unhide(void)
{
	HEAPTAP_CALL((void)0, unhide());
}

// For a monitor's `allocated`: the number of the call stack that the block it is told of was recorded with, by which the answer to
// heaptap_dump("frames") names it. 0: the block was not recorded. Anywhere.
static inline uint32_t heaptap_stack(const void *address)
{
	return HEAPTAP_CALL(0, stack(address));
}

// Pools ---------------------------------------------------------------------------------------------------------------
// A program that divides memory itself (an arena, a slab, a free list, a garbage collector) says here what it gives out, and
// views show that, instead of the large blocks that it lies in. An allocation in a pool is recorded, sampled, counted, paused
// and stopped as any other, with the caller's call stack and [pool NAME] for its innermost frame. Measures,
// monitors and thresholds tell of the real allocator alone.
//
// Say it in the order in which a thread may rely on it: that memory is the pool's, before anything is given out in it; an allocation
// after the pool has set it apart; a free or clear before the pool may give the same bytes out again; a destroy before the memory is
// given back.
#define HEAPTAP_INLINE static inline __attribute__((always_inline, unused))

// Creates a pool; pools with the same name are shown as one. Returns what the other functions ask for, or 0 without the
// agent, if its tables are full, or after 2^32 pools: then the other functions do nothing. A forked child goes on using it. Anywhere.
HEAPTAP_INLINE heaptap_pool_id heaptap_pool_create(const char *name)
{
	return HEAPTAP_CALL(0, pool_create(name));
}

// What the calling thread allocates from here on serves the pool: it is counted nowhere but as the pool's memory. 0: it is counted as
// always. Returns whom it served before, to be passed when that is to go on. All other threads' events take the longer way meanwhile, so
// this belongs around the very call. A thread that leaves it on goes on so. Anywhere.
HEAPTAP_INLINE heaptap_pool_id heaptap_pool_serve(heaptap_pool_id pool)
{
	return HEAPTAP_CALL(0, pool_serve(pool));
}

// The `size` bytes from `block` on serve the pool from here on. If a block of the heap, or of another pool, begins there, that block
// ends in the books, so that its bytes are not counted twice (but they were until now, and may have made the peak: see
// heaptap_pool_serve); when it is freed or reallocated, what the pool has in it ends with it. Else
// (mmap, static memory) they serve it until it is destroyed. Said again for the same pool, it does nothing; for another one, what is
// in it ends and it is that pool's. Anywhere.
HEAPTAP_INLINE void heaptap_pool_backing(heaptap_pool_id pool, const void *block, size_t size)
{
	HEAPTAP_CALL((void)0, pool_backing(pool, block, size));
}

// The pool has given out `size` bytes at `address`; NULL: it had no room, which is counted as a failed allocation. Where the same
// pool's block at that address has not ended, it ends unseen. Anywhere.
HEAPTAP_INLINE void heaptap_pool_alloc(heaptap_pool_id pool, const void *address, size_t size)
{
	HEAPTAP_CALL((void)0, pool_alloc(pool, address, size));
}

// What it has given out at `address` is about to be taken back. An address that it has not given out is counted as unmatched; NULL
// is nothing. Anywhere.
HEAPTAP_INLINE void heaptap_pool_free(heaptap_pool_id pool, const void *address)
{
	HEAPTAP_CALL((void)0, pool_free(pool, address));
}

// What it has given out at `from` lies at `to` now, or has another size there: as realloc(from, size) that has returned `to`, its cases
// of NULL included. Anywhere.
HEAPTAP_INLINE void heaptap_pool_move(heaptap_pool_id pool, const void *from, const void *to, size_t size)
{
	HEAPTAP_CALL((void)0, pool_move(pool, from, to, size));
}

// All that it has given out ends; its memory stays. Anywhere.
HEAPTAP_INLINE void heaptap_pool_clear(heaptap_pool_id pool)
{
	HEAPTAP_CALL((void)0, pool_clear(pool));
}

// The same, and the pool is no more: nothing is to be said of it any longer. A block of the heap that has served it stays out of the
// books until it is freed. Anywhere.
HEAPTAP_INLINE void heaptap_pool_destroy(heaptap_pool_id pool)
{
	HEAPTAP_CALL((void)0, pool_destroy(pool));
}

// The recorder --------------------------------------------------------------------------------------------------------
// These wait for an answer of the recorder, `timeout` milliseconds at most, and count what the calling thread has done so far and
// what others have. They change nothing that is counted. HEAPTAP_OK; or HEAPTAP_NOT_LOADED, HEAPTAP_NO_RECORDER, HEAPTAP_TIMEOUT. No handler,
// not in a monitor's callback.

// Requested bytes and blocks that are live.
static inline int heaptap_live(struct heaptap_live *out, unsigned timeout)
{
	out->bytes = out->blocks = 0;
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, live(out, sizeof(*out), timeout));
}

// Prints the profile so far to a file descriptor, which must not be one that others wait to be read from. `what` is words, with spaces between,
// all of which may be left out (NULL is none):
//   text or folded          a table of functions, or call stacks for flame graphs
//   stacks                  call stacks as folded, each behind its calls, and its total, live and most live bytes
//   details                 the same, with a line for each function, from the leaf on: its name, and where in the source; an empty line ends it
//   frames                  as details, with heaptap_stack's number in place of the numbers; first, as 0, the call stack of this very call
//   pprof                   a file for go tool pprof, compressed
//   summary or histogram    the sums; powers of two: what was allocated, by requested and by usable size, and what of it was freed
//   sort=live               the most first: by live (the default), total, peak or calls
//   thread=self             of what this thread allocated; else of all
//   function=PATTERN        the lines of the functions that match
//   size=MIN..MAX           of blocks of so many requested bytes; one of them may be left out
//   limit=20                so many rows
// HEAPTAP_INVALID if it cannot be understood, or written.
static inline int heaptap_dump(int fd, const char *what, unsigned timeout)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, dump(fd, what, timeout));
}

#endif

#ifdef __cplusplus
}
#endif

#endif
