// SPDX-License-Identifier: Apache-2.0
//
// heaptap.h: the API by which a program, its framework or its tests talk to heaptap. C99 and C++; nothing to link with.
//
//     #include <heaptap/heaptap.h>
//
//     heaptap_region_begin("load", NULL, 0);
//     load(file);
//     heaptap_region_end("load");
//
// The functions look for the agent once, when the program or plugin that was compiled with this header is loaded.
// Without the agent (the program does not run under heaptap), each function is a load and a branch and does nothing;
// what it returns then is documented below. With glibc before 2.34, link with -ldl; otherwise the agent is not found.
//
// These words say where a function may be called:
//   anywhere    in any thread, in signal handlers, in a monitor's callbacks, before main and during exit
//   no handler  the same, but not in a signal handler
// No function allocates, locks or changes errno. None needs a recorder, except for the two functions under "The
// recorder".
//
// The ABI: the agent exports one function, heaptap_api, which returns a table of functions. Members are only added at
// the table's end, and structs are passed with their size. So older programs work with newer agents. An agent that is
// older than the header counts as not loaded.
#ifndef HEAPTAP_H
#define HEAPTAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPTAP_VERSION 1

// Return values of functions that can fail.
#define HEAPTAP_OK 0
#define HEAPTAP_NOT_LOADED (-1) // the program does not run under heaptap, or this child of it is not recorded
#define HEAPTAP_INVALID (-2) // an invalid argument: a measure that has ended or is another thread's, an unknown monitor
#define HEAPTAP_FULL (-3) // too many at once: the agent has no room
#define HEAPTAP_RUNNING (-4) // done, but callbacks may still be running, see heaptap_monitor_remove
#define HEAPTAP_NO_RECORDER (-5) // there is no recorder: plain LD_PRELOAD, or the recorder has died
#define HEAPTAP_TIMEOUT (-6) // the recorder did not answer in time

// Measures ------------------------------------------------------------------------------------------------------------

#define HEAPTAP_THREAD 0 // what the calling thread does
#define HEAPTAP_PROCESS 1 // what all threads of the process do
#define HEAPTAP_EXCLUSIVE 2 // with HEAPTAP_THREAD: its events do not count in the thread's outer measures
#define HEAPTAP_MEASURES 32 // the most nested measures of a thread, and the most process-wide ones at once

// What happened between the beginning and the end of a measure. Usable bytes are what malloc_usable_size reports for a
// block, never less than the requested bytes. A realloc counts as a deallocation and an allocation. Calls that fail do
// not count, nor does what a monitor's callback does.
struct heaptap_measured {
	uint64_t allocations;
	uint64_t deallocations; // including blocks from before the measure
	uint64_t requested; // requested bytes of the allocations
	uint64_t allocated; // usable bytes of the allocations
	uint64_t deallocated; // usable bytes of the deallocations
	int64_t added; // allocated - deallocated: usable bytes after minus before
	int64_t highest; // maximum of the running balance, in usable bytes; it begins at 0: the peak above the start
	int64_t lowest; // minimum of the running balance; never above 0
	uint64_t largest; // requested bytes of the largest single allocation
};

// Monitors ------------------------------------------------------------------------------------------------------------

#define HEAPTAP_MONITORS 16 // the most monitors registered at once

// Callbacks for each allocation and deallocation, called in the thread that makes it: for an allocation after the real
// function has returned, for a deallocation before the real function is called. A realloc calls both; if it fails, the
// block is reported as allocated again, with its usable size as the requested size. Callbacks run in several threads at
// the same time, and in signal handlers that allocate. What they allocate and free is recorded as usual, but neither
// reported to monitors nor measured. They must not throw, longjmp, or take a lock that another thread may hold while it
// allocates.
struct heaptap_monitor {
	void (*allocated)(size_t requested, size_t usable, const void *address, void *user); // or NULL
	void (*deallocated)(size_t usable, const void *address, void *user); // or NULL
	void *user; // passed to both
};

// The recorder --------------------------------------------------------------------------------------------------------

// Live memory of this process, as recorded.
struct heaptap_live {
	uint64_t bytes; // requested
	uint64_t blocks;
};

// Pools ---------------------------------------------------------------------------------------------------------------

typedef uint64_t heaptap_pool_id; // 0: no pool; calls with it do nothing

// The table -----------------------------------------------------------------------------------------------------------

struct heaptap_api {
	uint32_t size; // size of the agent's table
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

// The only symbol of the agent that programs use. It returns the table, whose address never changes; NULL if the table
// has fewer than `size` bytes, or if the agent has disabled itself. From other languages: find this symbol with dlsym
// and call it.
typedef const struct heaptap_api *heaptap_api_function(size_t size);

// Name for heaptap_shared of a uint32_t: if it is not 0, the monitors of compat/alloc_monitor.h are not called.
#define HEAPTAP_ALLOC_MONITOR_STOPPED "alloc_monitor stopped"

#ifndef HEAPTAP_AGENT // the agent includes this file for the declarations above

// One for each program or plugin, however many of its files include this header. Not hidden, because a library may run
// inline functions that the dynamic linker has found in the executable or in another library, before the constructors
// of that one have run.
__attribute__((weak, visibility("default"))) const struct heaptap_api *heaptap_table;

static void *heaptap_dlsym(void *, const char *) __attribute__((weakref("dlsym")));
static char *heaptap_dlerror(void) __attribute__((weakref("dlerror")));

// Runs before all constructors without a priority, and so before those of C++'s static objects. A weak reference to
// heaptap_api itself would stay unresolved in a program that is not position-independent.
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
		heaptap_dlerror(); // clears the error, so that the program's next dlerror does not return ours
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

// 1 if allocations of the calling thread are being recorded (or sampled, or counted); 0 if recording is stopped, or
// paused in this thread, or if the agent is not loaded. Anywhere.
static inline int heaptap_active(void)
{
	return HEAPTAP_CALL(0, active());
}

// Start recording, in the mode that it had before it was stopped (or was to have from the start of the program), and
// stop it. They act at once and on the whole process, and on the processes that it has forked, or was forked from,
// without exec. While recording is stopped, new allocations are ignored; deallocations of recorded blocks are still
// recorded. Return HEAPTAP_OK or HEAPTAP_NOT_LOADED. Anywhere.
static inline int heaptap_start(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, start());
}
static inline int heaptap_stop(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, stop());
}

// Excludes what the calling thread allocates until the matching resume. Pairs nest; an extra resume does nothing.
// Deallocations of recorded blocks are still recorded. Anywhere.
static inline void heaptap_pause(void)
{
	HEAPTAP_CALL((void)0, pause());
}
static inline void heaptap_resume(void)
{
	HEAPTAP_CALL((void)0, resume());
}

// Names ---------------------------------------------------------------------------------------------------------------
// Names are UTF-8, copied, and cut after HEAPTAP_NAME_MAX bytes. NULL is an empty name.
#define HEAPTAP_NAME_MAX 1000

// Names this moment. Anywhere.
static inline void heaptap_mark(const char *name)
{
	HEAPTAP_CALL((void)0, mark(name));
}

// The calling thread enters a region: a named, nested span of its time, whose allocations can be queried later. Up to
// four ids (event, module, phase ...) distinguish regions of the same name; further ids are ignored. Any number of
// regions may be nested. A region that is left open ends with its thread. After fork, the child continues in the
// regions of the thread that forked. Anywhere.
static inline void heaptap_region_begin(const char *name, const int64_t *ids, size_t count)
{
	HEAPTAP_CALL((void)0, region_begin(name, ids, count));
}

// The calling thread leaves the innermost region of that name, and all regions that it has entered since. If there is
// none, nothing happens. Anywhere.
static inline void heaptap_region_end(const char *name)
{
	HEAPTAP_CALL((void)0, region_end(name));
}

// Names the calling thread in the recording, from now on. The kernel's name of the thread does not change. Anywhere.
static inline void heaptap_thread_name(const char *name)
{
	HEAPTAP_CALL((void)0, thread_name(name));
}

// Names the `size` bytes from `start` on, until they are named again. Anywhere.
static inline void heaptap_range_name(const void *start, size_t size, const char *name)
{
	HEAPTAP_CALL((void)0, range_name(start, size, name));
}

// Measures ------------------------------------------------------------------------------------------------------------

// Begins a measure. flags are HEAPTAP_THREAD or HEAPTAP_PROCESS, optionally with HEAPTAP_EXCLUSIVE. Returns the number,
// above 0, that the other two functions take; or HEAPTAP_NOT_LOADED, HEAPTAP_FULL, or HEAPTAP_INVALID. No handler.
// Counts and bytes are exact whatever heaptap records, even while it is stopped or samples. A thread's measures nest:
// ending one ends those that were begun after it. A process-wide measure may begin a little later in other threads; its
// counts and balance are exact once these threads have finished their calls.
static inline int64_t heaptap_measure_begin(unsigned flags)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_begin(flags));
}

static inline struct heaptap_measured heaptap_nothing(void)
{
	static const struct heaptap_measured nothing = {0, 0, 0, 0, 0, 0, 0, 0, 0};
	return nothing;
}

// Reads what has happened since the beginning of the measure, including inner measures that are not exclusive. Returns
// HEAPTAP_OK; or HEAPTAP_NOT_LOADED or HEAPTAP_INVALID, and then all fields are 0. Only the thread that began a measure
// with HEAPTAP_THREAD may read and end it. No handler.
static inline int heaptap_measure_read(int64_t measure, struct heaptap_measured *out)
{
	*out = heaptap_nothing();
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_read(measure, out, sizeof(*out)));
}

// The same, and ends the measure.
static inline int heaptap_measure_end(int64_t measure, struct heaptap_measured *out)
{
	*out = heaptap_nothing();
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, measure_end(measure, out, sizeof(*out)));
}

// One for the process -------------------------------------------------------------------------------------------------
// A header may be compiled into an executable, its libraries and its plugins. Each then has static variables of its
// own; what they must share is kept here.

// Returns memory that is the same for all callers with this name and size, zero at first. It is never freed; a forked
// child has a copy. The name, of at most 63 bytes, stands for the layout and its version. NULL without the agent, or if
// there is no memory. Anywhere.
static inline void *heaptap_shared(const char *name, size_t size)
{
	return HEAPTAP_CALL(NULL, shared(name, size));
}

// Returns the calling thread's number, which no other thread of the process ever has; 0 without the agent. Anywhere.
static inline uint64_t heaptap_thread(void)
{
	return HEAPTAP_CALL(0, thread());
}

// Monitors ------------------------------------------------------------------------------------------------------------

// Registers a copy of a monitor. Returns its number, above 0; or HEAPTAP_NOT_LOADED, HEAPTAP_FULL, or HEAPTAP_INVALID.
// Calls that other threads are making meanwhile may not be reported. No handler.
static inline int heaptap_monitor_add(const struct heaptap_monitor *monitor)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_add(monitor, sizeof(*monitor)));
}

// Removes a monitor and waits for its running callbacks: once HEAPTAP_OK is returned, nothing uses `user` any longer.
// Called from within a callback of any monitor, it does not wait, because two callbacks could wait for each other. It
// then returns HEAPTAP_RUNNING, and heaptap_monitor_wait, called from outside, waits. Else HEAPTAP_NOT_LOADED or
// HEAPTAP_INVALID. No handler.
static inline int heaptap_monitor_remove(int monitor)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_remove(monitor));
}

// Waits for running callbacks of removed monitors. Returns the same values as heaptap_monitor_remove. No handler.
static inline int heaptap_monitor_wait(void)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, monitor_remove(0));
}

// Until the matching unhide, what the calling thread allocates and frees is neither reported to monitors nor measured,
// as in a callback. It is still recorded. Pairs nest. Anywhere.
static inline void heaptap_hide(void)
{
	HEAPTAP_CALL((void)0, hide());
}
static inline void heaptap_unhide(void)
{
	HEAPTAP_CALL((void)0, unhide());
}

// For a monitor's callback `allocated`: returns the number of the block's call stack in the recording, which is also
// its number in the output of heaptap_dump("frames"); 0 if the block was not recorded. Anywhere.
static inline uint32_t heaptap_stack(const void *address)
{
	return HEAPTAP_CALL(0, stack(address));
}

// Pools ---------------------------------------------------------------------------------------------------------------
// A program that divides memory itself (an arena, a slab, a free list, a garbage collector) reports its allocations
// here. Views then show these instead of the large blocks that they lie in. An allocation in a pool is recorded,
// sampled, counted, paused and stopped like any other, with the caller's call stack and [pool NAME] as its leaf.
// Measures, monitors and thresholds see only the real allocator.
//
// Report in an order that holds for all threads: backing memory before anything is allocated in it; an allocation after
// the pool has reserved it; a free or clear before the pool can hand out the same bytes again; a destroy before the
// memory is released.
#define HEAPTAP_INLINE static inline __attribute__((always_inline, unused))

// Creates a pool. Pools with the same name are shown as one. Returns the id that the other functions take; 0 without
// the agent, if its tables are full, or after 2^32 pools. With id 0, the other functions do nothing. A forked child can
// use the same id. Anywhere.
HEAPTAP_INLINE heaptap_pool_id heaptap_pool_create(const char *name)
{
	return HEAPTAP_CALL(0, pool_create(name));
}

// From now on, what the calling thread allocates is backing of the pool, and counted only as such. 0: it is counted as
// usual again. Returns the previous pool; pass that to restore the previous state. Until then, all other threads' calls
// are slower, so put this directly around the call that allocates. The setting lasts until it is changed. Anywhere.
HEAPTAP_INLINE heaptap_pool_id heaptap_pool_serve(heaptap_pool_id pool)
{
	return HEAPTAP_CALL(0, pool_serve(pool));
}

// The `size` bytes from `block` on are backing of the pool from now on. If a block of the heap, or of another pool,
// begins there, it is counted as ended, so that its bytes are not counted twice. (They were counted until now, and may
// be part of the peak; heaptap_pool_serve avoids that.) When that block is freed or reallocated, the pool's allocations
// in it end with it. Other memory (mmap, static) is backing until the pool is destroyed. Repeating the call for the
// same pool does nothing; a call for another pool ends the allocations in the memory and makes it that pool's.
// Anywhere.
HEAPTAP_INLINE void heaptap_pool_backing(heaptap_pool_id pool, const void *block, size_t size)
{
	HEAPTAP_CALL((void)0, pool_backing(pool, block, size));
}

// The pool has allocated `size` bytes at `address`; NULL: it had no room, which counts as a failed allocation. If a
// block of the same pool at that address has not ended, it ends now, as unseen. Anywhere.
HEAPTAP_INLINE void heaptap_pool_alloc(heaptap_pool_id pool, const void *address, size_t size)
{
	HEAPTAP_CALL((void)0, pool_alloc(pool, address, size));
}

// The pool is about to free its block at `address`. An address at which it has no block counts as unmatched; NULL does
// nothing. Anywhere.
HEAPTAP_INLINE void heaptap_pool_free(heaptap_pool_id pool, const void *address)
{
	HEAPTAP_CALL((void)0, pool_free(pool, address));
}

// The pool has moved or resized its block at `from`, like a realloc(from, size) that returned `to`, including the cases
// in which these are NULL. Anywhere.
HEAPTAP_INLINE void heaptap_pool_move(heaptap_pool_id pool, const void *from, const void *to, size_t size)
{
	HEAPTAP_CALL((void)0, pool_move(pool, from, to, size));
}

// All blocks of the pool end; it keeps its backing. Anywhere.
HEAPTAP_INLINE void heaptap_pool_clear(heaptap_pool_id pool)
{
	HEAPTAP_CALL((void)0, pool_clear(pool));
}

// The same, and the pool ends: its id must not be used any more. A heap block that was its backing is not counted again
// until it is freed. Anywhere.
HEAPTAP_INLINE void heaptap_pool_destroy(heaptap_pool_id pool)
{
	HEAPTAP_CALL((void)0, pool_destroy(pool));
}

// The recorder --------------------------------------------------------------------------------------------------------
// These functions wait for an answer of the recorder, for at most `timeout` milliseconds. The answer covers what the
// calling thread, and other threads, have done so far. The calls themselves are not counted. They return HEAPTAP_OK; or
// HEAPTAP_NOT_LOADED, HEAPTAP_NO_RECORDER, or HEAPTAP_TIMEOUT. No handler, not in a monitor's callback.

// Returns the requested bytes and the blocks that are live.
static inline int heaptap_live(struct heaptap_live *out, unsigned timeout)
{
	out->bytes = out->blocks = 0;
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, live(out, sizeof(*out), timeout));
}

// Prints the profile so far to a file descriptor. Writing may block, and longer than `timeout`: something must read a
// pipe or socket meanwhile. `what` is a list of words, separated by spaces; all are optional, and NULL is an empty
// list:
//   text or folded          a table of functions, or call stacks for flame graphs
//   stacks                  call stacks as folded, each after its calls, and its total, live and most live bytes
//   details                 the same, with a line for each function, from the leaf on: its name, and its place in the
//                           source; an empty line ends a call stack
//   frames                  like details, with heaptap_stack's number instead of the sums; first, as 0, the call stack
//                           of this call
//   pprof                   a file for go tool pprof, compressed
//   summary or histogram    the sums; powers of two: what was allocated, by requested and by usable size, and what of
//                           that was freed
//   sort=live               the largest first: by live (the default), total, peak or calls
//   thread=self             of what this thread allocated; else of all
//   function=PATTERN        the lines of the functions that match
//   size=MIN..MAX           of blocks of so many requested bytes; one of them may be left out
//   limit=20                at most so many rows
// Returns HEAPTAP_INVALID if `what` cannot be parsed, or the output cannot be written.
static inline int heaptap_dump(int fd, const char *what, unsigned timeout)
{
	return HEAPTAP_CALL(HEAPTAP_NOT_LOADED, dump(fd, what, timeout));
}

#endif

#ifdef __cplusplus
}
#endif

#endif
