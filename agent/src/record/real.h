// SPDX-License-Identifier: Apache-2.0
//
// real.h: the functions that the program would call without the agent (hooks/real.c).
#ifndef HT_REAL_H
#define HT_REAL_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

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
// Those of them that allocate or deallocate: X(result, name, kind, parameters, arguments), or X_VOID if they return
// nothing.
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
// Usable from the first instruction on: as long as a real function is unknown, its entry is a function that finds it
// first.
extern struct ht_real ht_real;
// The word before a block holds its size, as glibc's allocator keeps it.
extern int ht_glibc;
// The module that provides malloc, if that is not libc. Its own mappings are not the program's.
extern u64 ht_allocator_low, ht_allocator_size;

void ht_real_init(void);
// Searches all loaded modules for a function of that name, if it is not known yet. *where stays null if there is none.
HT_COLD void ht_real_late(const char *name, void **where);
// foreign.c: puts a guard around each function of an allocator that may call its own functions by their public names.
void ht_foreign_init(void);

// The C++ operators, std::get_new_handler, and the functions that register generated code, in the order of the table in
// real.c.
#define HT_OPERATORS 23
#define HT_GET_NEW_HANDLER 20
#define HT_REGISTER_FRAME 21
#define HT_DEREGISTER_FRAME 22
// Returns the real operator with this number, or null if no loaded module defines it. May be slow the first time.
void *ht_real_operator(u32 number);
// From now on, ht_real_operator returns what wrap returns for each operator.
void ht_real_wrap_operators(void *(*wrap)(u32 number, void *function));
// Whether pc lies in the code of one of the real operators found so far.
int ht_in_operator(u64 pc);

extern u64 ht_agent_low, ht_agent_size;
extern const char *ht_agent_path; // the path by which the loader was asked for it
HT_INLINE int ht_in_agent(u64 pc)
{
	return pc - ht_agent_low < ht_agent_size;
}

// filter.c: the real functions of the hooks of syscall and prctl.
extern long (*ht_real_syscall)(long n, long a, long b, long c, long d, long e, long f);
extern int (*ht_real_prctl)(int option, u64 a, u64 b, u64 c, u64 d);
// apart.c: the same for dlopen and dlmopen.
extern void *(*ht_real_dlopen)(const char *name, int flags);
extern void *(*ht_real_dlmopen)(long space, const char *name, int flags);

#pragma GCC visibility pop

#endif
