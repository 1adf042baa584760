// SPDX-License-Identifier: Apache-2.0
//
// agent.h: what the agent's files share with each other.
//
// The agent runs inside malloc, in signal handlers, before main and after exit, in forked children and under every lock
// that the target may hold. So in all of these files: no stdio, no malloc, no libc function that may allocate, lock or
// set errno; raw system calls (sys.h); memory from mmap; at most 1 KiB of the target's stack. Nothing waits for another
// thread's publication, nothing aborts: trouble is counted in ht_header.counters and the target goes on.
#ifndef HT_AGENT_H
#define HT_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

// All of it is the agent's own: reached directly, not through the global offset table.
#pragma GCC visibility push(hidden)

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef int64_t i64;
typedef int32_t i32;

#define ht_likely(x) __builtin_expect(!!(x), 1)
#define ht_unlikely(x) __builtin_expect(!!(x), 0)
#define HT_INLINE static inline __attribute__((always_inline))
#define HT_NOINLINE __attribute__((noinline))
#define HT_EXPORT __attribute__((visibility("default")))
#define HT_COLD __attribute__((noinline, cold))
// Keeps no frame: for what needs nothing of the stack but where its caller's begins.
#ifdef __clang__
#define HT_FRAMELESS
#else
#define HT_FRAMELESS __attribute__((optimize("omit-frame-pointer")))
#endif
// A compiler barrier: what is before it in the program stays before it for a signal handler of the same thread.
#define HT_FENCE() __asm__ volatile("" ::: "memory")

#define ht_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define ht_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ht_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ht_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

// ---------------------------------------------------------------------------------------------------------------------
// walk.c, unwind.c, and their memo: what a thread remembers of its last stack

struct ht_frame; // private to unwind.c
struct ht_check_pair;
struct ht_deep;
struct ht_complex;

// One per stream, all zero at first; owned by unwind.c. It lives in private memory of the process.
struct ht_memo {
	// The innermost frame, if its node is known and all checks may be read as they are; else null.
	const struct ht_frame *leaf;
	// Where ht_walk begins to compare: the innermost frame, laid down or loose; null if only the long way is open.
	const struct ht_frame *top;
	struct ht_frame *frames; // root first
	struct ht_check_pair *checks;
	u64 generation; // ht_state.generation for which it holds
	u64 low, high; // the thread's own stack: [low, high) is readable while sp >= low
	struct ht_frame *loose_end; // the last walk's loose frames end here, see walk.c
	u64 both_ends; // the sum of the ends of both buffers: the next walk puts its own where loose_end is not
	u32 depth; // frames that are laid down; 0: nothing is remembered
	u32 loose; // number of loose frames; they come above the others
	u32 first_foreign; // 1 + index of the first (outermost) frame on a foreign stack; 0: there is none
	u32 frame_capacity, check_capacity;
	u32 next_region;
	struct {
		u64 low, high;
	} regions[4]; // foreign stacks seen last: coroutines, signal stacks
	struct ht_frame *buffers; // of the loose frames
	void *scratch; // for the CFI interpreter and the full-register walk
	u64 scratch_size;
	struct ht_deep
		*deep; // what is known of a deep stack beside all that, see deep.h; null as long as there was none
	u32 near_capacity; // frames that may be laid down in the short way, see deep.h
	u32 complex_count, complex_noted,
		complex_capacity; // remembered; those and the ones noted in this walk; see complex.h
	struct ht_complex *complex;
};

// Forgets what it remembers, but keeps the memory: for another thread, or after something made it doubtful.
HT_INLINE void ht_memo_forget(struct ht_memo *memo)
{
	memo->leaf = 0;
	memo->top = 0;
	HT_FENCE(); // a handler may leave the agent between any two stores, and what stands then must hold
	memo->loose = 0;
	HT_FENCE();
	memo->depth = 0;
}

// Forgets what it remembers and gives its memory back to the system.
void ht_memo_free(struct ht_memo *memo);

// ---------------------------------------------------------------------------------------------------------------------
// rules.c, cfi.c, modules.c, cct.c: process-wide tables. Each ht_*_init is called once, before any event, with no other
// thread around as far as anybody knows; it returns 0, or -1 when the agent must step aside.

int ht_rules_init(void);
int ht_cct_init(void);
// Builds the table of loaded modules and writes them to the module log. May take the loader's lock.
int ht_modules_init(void);
// Called (outside of any walk, busy set) when an event's caller is the dynamic loader: looks for unloaded modules, logs
// them, drops their rules and raises ht_state.generation so that every memo is dropped too. Takes no lock.
void ht_modules_check(void);
// Is any module known that may be unloaded? While there is none, ht_modules_check has nothing to do.
int ht_modules_may_go(void);
// When a module was logged at last, by the clock: an event through it must not bear an earlier time.
extern u64 ht_module_met;
// In a forked child, before its first event: module ids and tables stay valid, whatever the parent's other threads were
// doing at the fork.
void ht_tables_after_fork(void);

// Is pc inside the dynamic loader? Every event asks this of its caller.
extern u64 ht_loader_low, ht_loader_size;
HT_INLINE int ht_in_loader(u64 pc)
{
	return pc - ht_loader_low < ht_loader_size;
}

// ---------------------------------------------------------------------------------------------------------------------
// State of the process

// Lies in a page of its own that a fork wipes, from ht_init on; all 0 before, so that every event takes the slow way. Part of the
// library, not mapped for itself: so the hooks reach it without a pointer.
#define HT_STATE_PAGE 4096
struct ht_state {
	u64 generation; // 0: in a child that has not noticed yet; never otherwise
	// Not 0: deallocations are recorded with their own call stacks. Beside the generation, which every event reads.
	u64 free_stacks;
	// The generation while every event is recorded in the plain way; 0 while slow_flags is not 0. The short path of an
	// allocation looks at this, see record.h; that of a deallocation looks at `dispatch`.
	u64 common;
	u64 slow_flags; // HT_SLOW_..., see slow.h
	u64 size_mask; // sampled by bytes: all ones; by calls: 0, so that every size counts as 1
	u32 control; // the ht_header.control that this comes from
	u32 noticed_by; // in a forked child: the thread that does what is to be done then
	u32 dispatch; // which path the hooks take: HT_DISPATCH_...
} __attribute__((aligned(HT_STATE_PAGE)));
#define HT_DISPATCH_SLOW 0 // slow_flags must be looked at, or the call stacks of deallocations are wanted
#define HT_DISPATCH_EXACT 1 // every event is recorded in the plain way
#define HT_DISPATCH_FAST_HOOKS 2 // see fast_hooks.h
// What was remembered of call stacks holds no longer.
void ht_generation_raise(void);
extern struct ht_state ht_state[1];

// spool.c: the mapped spool. Null until it is usable.
extern struct ht_header *ht_header;
// Arrays; element i is mapped if i < ht_mapped[type], looked at before the array's address: an array that has no room to grow
// gets a new one, while the old one holds on for what it had.
extern struct ht_proc *ht_procs;
extern struct ht_stream *ht_streams;
extern u8 *ht_chunks; // chunk i is at ht_chunks + i * HT_CHUNK_SIZE
extern struct ht_pc *ht_pcs;
extern struct ht_node *ht_nodes;
extern u8 *ht_module_log, *ht_name_log;
extern struct ht_counts *ht_counts;
extern u64
	ht_mapped[HT_SEG_TYPES]; // elements (bytes for META, MODULES, NAMES) mapped in this process, from the first on

// Makes elements up to and including `index` of the array accessible, whether another process has added them or not. 0, or -1
// (no memory, no file access, limits): the caller degrades. Reentrant, waits for nobody.
HT_COLD int ht_array_reach(int type, u64 index);

// True if element `index` may be touched.
HT_INLINE int ht_array_has(int type, u64 index)
{
	return ht_likely(index < ht_load_acquire(&ht_mapped[type])) || ht_array_reach(type, index) == 0;
}

HT_INLINE void ht_count_by(enum ht_counter c, u64 n)
{
	if (ht_header)
		__atomic_fetch_add(&ht_header->counters[c], n, __ATOMIC_RELAXED);
}
HT_INLINE void ht_count(enum ht_counter c)
{
	ht_count_by(c, 1);
}

// Private memory of the agent's own, zeroed; null if there is none. Sizes are rounded up to pages.
void *ht_map(u64 size);
void ht_unmap(void *p, u64 size);
// Grows (possibly moves) what ht_map gave; null leaves the old one as it was.
void *ht_remap(void *p, u64 old_size, u64 new_size);

// ---------------------------------------------------------------------------------------------------------------------
// spool.c

// Creates and maps the spool. -1: the agent steps aside.
int ht_spool_init(void);
// The agent steps aside before there is one: the reason is told by a mark in the run's folder, or else by a text on stderr.
void ht_spool_unmade(const char *reason, const char *text);
// The agent steps aside after all: nothing is left of the spool.
void ht_spool_drop(void);
// The spool becomes visible to readers.
void ht_spool_publish(void);

// ---------------------------------------------------------------------------------------------------------------------
// chunks.c

// A chunk nobody uses, from the free list or by growing the pool; else waits for a recorder that makes progress; HT_NONE
// when there is none.
HT_COLD u32 ht_chunk_take(void);
HT_COLD void ht_wake_recorder(void); // if it sleeps
// Gives a chunk back to the free list.
void ht_chunk_give(u32 index);
// A chunk may have memory for its first part only. Where the last record must begin that fits into it; and more of it: 0, or -1 if
// there is no more, or no memory.
u64 ht_chunk_limit(const struct ht_chunk *chunk);
HT_COLD int ht_chunk_more(struct ht_chunk *chunk);
// A stream slot, from the free list or a new one; HT_NONE if there is none.
u32 ht_stream_take(void);
void ht_stream_give(u32 index);
// Appends a chunk, `fill` bytes of it, to the spill file. 0; -1 when there is no room for it; HT_UNREACHABLE when the
// process cannot open the file.
#define HT_UNREACHABLE (-2)
HT_COLD int ht_chunk_spill(struct ht_chunk *chunk);
// A chunk more than the pool has, so that a full one can stay in the spool; HT_NONE if there is no room.
HT_COLD u32 ht_chunk_add(void);

HT_INLINE struct ht_chunk *ht_chunk_at(u32 index)
{
	return (struct ht_chunk *)(ht_chunks + (u64)index * HT_CHUNK_SIZE);
}

// ---------------------------------------------------------------------------------------------------------------------
// real.c: the functions that the program would have called without the agent

struct ht_real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	size_t (*usable_size)(void *);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*execvp)(const char *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
};
// Those of them that allocate or deallocate: X(result, name, kind, parameters, arguments), or X_VOID if they return nothing.
#define HT_REAL_CALLS(X, X_VOID) \
	X(void *, malloc, HT_K_MALLOC, (size_t size), (size)) \
	X(void *, calloc, HT_K_CALLOC, (size_t count, size_t size), (count, size)) \
	X(void *, realloc, HT_K_REALLOC, (void *p, size_t size), (p, size)) \
	X(int, posix_memalign, HT_K_POSIX_MEMALIGN, (void **out, size_t alignment, size_t size), \
	  (out, alignment, size)) \
	X(void *, aligned_alloc, HT_K_ALIGNED_ALLOC, (size_t alignment, size_t size), (alignment, size)) \
	X(void *, memalign, HT_K_MEMALIGN, (size_t alignment, size_t size), (alignment, size)) \
	X(void *, valloc, HT_K_VALLOC, (size_t size), (size)) \
	X(void *, pvalloc, HT_K_PVALLOC, (size_t size), (size)) \
	X_VOID(void, free, HT_K_FREE, (void *p), (p)) \
	X_VOID(void, free_sized, HT_K_FREE_SIZED, (void *p, size_t size), (p, size)) \
	X_VOID(void, free_aligned_sized, HT_K_FREE_ALIGNED_SIZED, (void *p, size_t alignment, size_t size), \
	       (p, alignment, size))
// Usable from the first instruction on: until they are known, the entries find the real functions first.
extern struct ht_real ht_real;
// The word before a block holds its size, as glibc's allocator keeps it.
extern int ht_glibc;
// The module that provides malloc, if that is not libc: what it maps for itself is not the program's doing.
extern u64 ht_allocator_low, ht_allocator_size;

void ht_real_init(void);
// Looks for a function of that name in all that is loaded, if it is not known yet: null stays null if there is none.
HT_COLD void ht_real_late(const char *name, void **where);
// foreign.c: puts a guard around each of them, for an allocator that may call its own functions by their public names.
void ht_foreign_init(void);

// The C++ operators, std::get_new_handler, and where generated code is registered, in the order of the table in real.c.
#define HT_OPERATORS 23
#define HT_GET_NEW_HANDLER 20
#define HT_REGISTER_FRAME 21
#define HT_DEREGISTER_FRAME 22
// The real operator with this number, or null if no loaded module defines it. May be slow the first time.
void *ht_real_operator(u32 number);
// From here on ht_real_operator gives what wrap makes of each.
void ht_real_wrap_operators(void *(*wrap)(u32 number, void *function));
// Does pc lie in the code of one of the real operators found so far?
int ht_in_operator(u64 pc);

extern u64 ht_agent_low, ht_agent_size;
extern const char *ht_agent_path; // as the loader was told
HT_INLINE int ht_in_agent(u64 pc)
{
	return pc - ht_agent_low < ht_agent_size;
}

// ---------------------------------------------------------------------------------------------------------------------
// thread.c and init.c

// So many events at the beginning of each chunk, about one in a hundred, go the long way, which then times itself: what an event
// costs is known only in the target, with its stacks and its caches. Of these, the first are not counted: they find the
// chunk and the long way's code cold.
#define HT_TIMED 32
#define HT_TIMED_COLD 8

struct ht_thread {
	struct ht_stream *stream; // never null
	u64 at; // where the next record goes
	u64 limit; // beyond it, an event may not fit into the current chunk
	u64 short_limit; // the same for the short way of record.h; 0 where that is closed
	u64 pos_base; // ht_stream.pos is pos_base + at
	u8 *chunk; // where the current chunk lies
	struct ht_memo memo;
	struct ht_thread *upper; // for a signal handler that interrupts the agent in this one
	struct ht_thread *next; // list of all, never shortened
	u32 tid;
	u32 pid; // of the process that it was made in
	u32 level;
	u32 state;
	u32 slot; // index of the stream
	u32 timed; // events that are still to be timed, see record.c
	u64 deep; // below it, the stack pointer is to be told of: depth.c; 0: never
	u64 deepest; // the lowest one that was
	u64 pending_depth; // a lower one that a function has which has not ended yet, see cyg.c; 0: there is none
	struct ht_shadow *shadow; // see shadow.c
	struct ht_counts *counts; // what it counts, see counts.c; null: nothing yet
	struct ht_measures *measures; // see measure.c; null: none yet
	struct ht_regions *regions; // that the thread is in, see regions.c; null: it never was in any
	u64 calling; // odd while it calls monitors
	u32 paused; // its id while it is paused (heaptap_pause), else 0
	u32 serving; // its id while what it allocates serves a pool (heaptap_pool_serve), else 0
	struct ht_local *local; // its owner's
	int *errno_at; // its owner's
	struct ht_memo memo_of_frees; // --free-stacks: the same for deallocations, which take turns with allocations
};

struct ht_caller {
	u64 pc; // return address
	u64 sp; // the caller's stack pointer after the return
	u64 fp; // the caller's frame pointer
};

// The C++ operator, or function of a foreign allocator, that is running in this thread for its hook. What that itself calls
// (malloc, or operator new from operator new[]) belongs to its event. An exception or a longjmp may leave this set: so only
// calls that come from the code of a real operator, or of the allocator, are ever held against it (hooks_cxx.c).
struct ht_operator {
	u64 sp; // the hook's caller's stack pointer; 0: none is running
	u64 slot; // where the return address into the hook lies
	u64 kind, size, extra_kind, extra;
	struct ht_caller caller;
	u32 asking; // the allocator is being asked for a usable size; sp is not 0 then
	u32 failed; // the allocation in it failed, and only a new_handler can still save it
	u32 stack;
};

// What is the calling thread's own: all of the agent's thread-local storage.
struct ht_local {
	struct ht_thread *thread; // its state; ht_no_thread, whose stream is always busy, before its first event
	struct ht_operator operator;
	i64 budget; // bytes, or calls, up to the next sample
	u64 random; // state of the generator; 0: not seeded yet
	struct ht_measures *measures; // of a thread that was forked and has no state yet
	struct ht_regions *regions; // the same
	u32 paused; // heaptap_pause: not 0, new allocations are not recorded
	u32 hidden; // heaptap_hide, or calling a monitor: not 0, nothing is reported or measured
	u64 serves; // pool that what the thread allocates serves; 0: none. See api.c
	u64 number; // among the threads of the process; 0: not asked for yet. See shared.c
	u32 unreported; // alloc_monitor_stop_thread_reporting: not 0, once counted in hidden
	// filter.c: what the thread has forbidden itself.
	const struct ht_filter *filters; // the newest one
	const struct ht_filter *filters_before; // those of the thread itself, while filters_pid is not 0
	u32 filters_pid; // the vforked child that has installed them, with this thread's memory; 0: the thread itself
	u8 filters_known; // these are all; else the thread may have inherited some
	u8 filters_asked; // the kernel, whether there are any
	u8 clock_known; // the timestamp counter may be read
	u8 stopped; // nothing is recorded of this thread, and why
};
extern __thread struct ht_local ht_local __attribute__((tls_model("initial-exec")));
extern struct ht_thread ht_no_thread;

// The uncommon ways into an event: a new thread, a forked child, a signal handler on top of the agent, the agent's
// first call at all. Returns null if the event cannot be recorded (counted).
HT_COLD struct ht_thread *ht_thread_enter(struct ht_thread *t, u64 sp);
// The calling thread's state, which it gets if it has none; null if that cannot be.
HT_COLD struct ht_thread *ht_thread_appear(u64 sp);
HT_INLINE struct ht_thread *ht_thread_mine(void)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_likely(t != &ht_no_thread) && ht_likely(ht_load(&ht_state->generation) != 0))
		return t;
	return ht_thread_appear((u64)__builtin_frame_address(0));
}
// All threads' states, signal handlers' and unused ones too; they are linked by `next`.
struct ht_thread *ht_threads(void);
int ht_thread_is_gone(struct ht_thread *t);
// Are both addresses on the thread's own stack, as far as that is known yet?
HT_INLINE int ht_on_stack(const struct ht_thread *t, u64 a, u64 b)
{
	return a >= t->memo.low && a < t->memo.high && b >= t->memo.low && b < t->memo.high;
}
// Records that the thread's stack reaches down to the caller's. To be called where c.sp is below ht_thread.deep.
HT_COLD void ht_deeper(struct ht_caller c);
// Makes room for HT_RECORD_MAX bytes: in the chunk, or else hands it over and takes another one.
HT_COLD void ht_thread_next_chunk(struct ht_thread *t);

// filter.c: the functions that stand behind the hooks of syscall and prctl.
extern long (*ht_real_syscall)(long n, long a, long b, long c, long d, long e, long f);
extern int (*ht_real_prctl)(int option, u64 a, u64 b, u64 c, u64 d);
// apart.c: those of dlopen and dlmopen.
extern void *(*ht_real_dlopen)(const char *name, int flags);
extern void *(*ht_real_dlmopen)(long space, const char *name, int flags);

// 1 when the agent is up, 0 when it is not and never will be. Called by the first event or the constructor.
int ht_init(void);
// In a forked child: its own process slot, its own streams from now on.
void ht_threads_after_fork(void);
extern u32 ht_process; // this process's slot
extern u32 ht_pid;
// The calling thread's state, or ht_no_thread. What a thread has brought with it through a fork is its parent's.
HT_INLINE struct ht_thread *ht_thread_own(void)
{
	struct ht_thread *t = ht_local.thread;
	if (ht_unlikely(t->pid != ht_pid && t != &ht_no_thread))
		t = ht_local.thread = &ht_no_thread;
	return t;
}

// ---------------------------------------------------------------------------------------------------------------------
// environ.c: the environment and the auxiliary vector as the kernel passed them at exec

void ht_environ_init(void);
// The value of a variable, or null if it is not there, or empty. Valid until ht_environ_done.
const char *ht_environ_get(const char *name);
// Is a variable set to 1 or true? What is neither that nor 0 nor false is complained of.
int ht_environ_says(const char *name);
// Copies the NAME=VALUE strings that matter to allocators to out (NUL-separated); returns the bytes used.
u64 ht_environ_copy(char *out, u64 size);
void ht_environ_done(void);
// A value of the auxiliary vector, 0 if absent.
u64 ht_auxv(u64 type);

// Text, without libc.
u64 ht_strlen(const char *s);
int ht_streq(const char *a, const char *b);
// Appends s (or a number) to the NUL-terminated string of at most `size` bytes at out; returns its new length, never more
// than size - 1.
u64 ht_append(char *out, u64 size, const char *s);
u64 ht_append_number(char *out, u64 size, u64 value, u32 base);
// A number with an optional suffix K, M, G (KiB and so on are accepted too); `otherwise` if s is null or no number.
u64 ht_number(const char *s, u64 otherwise);
// As ht_number, but all of s must be that number and its suffix: 0, or -1.
int ht_number_exact(const char *s, u64 *value);

#pragma GCC visibility pop

#endif
