// SPDX-License-Identifier: Apache-2.0
//
// timed.c: how long the real functions take (--time-calls).
//
// Each pointer to a real function is replaced by a function that reads the clock around the call, so hooks cost nothing
// more while calls are not timed. What a real function itself calls through our hooks, as operator new calls malloc, is
// part of its own time and not timed again.

#include "hooks/timed.h"
#include "base/filter.h"
#include "base/local.h"
#include "base/state.h"
#include "record/real.h"
#include "record/record.h"

#define PLAIN_OPERATORS 20 // the first ones in the order of real.c, which allocate and deallocate

static struct ht_real direct;
static void *operators[PLAIN_OPERATORS];

// The caller of the hook that called us. A hook that ends by jumping to us has left no frame.
HT_INLINE struct ht_caller hook_caller(const u64 *frame)
{
	return ht_caller_of(ht_in_agent(frame[1]) ? (const u64 *)frame[0] : frame);
}

HT_INLINE u64 now(void)
{
	return ht_likely(ht_clock_is_allowed()) ? ht_clock() : 0;
}

static HT_NOINLINE void took(u64 kind, u64 begin, struct ht_caller c)
{
	u64 ticks = now() - begin;
	if (ht_load(&ht_state->slow_flags) & HT_SLOW_OFF)
		return;
	struct ht_counts_row *row = ht_counts_row(ht_thread_prepare(c), kind);
	if (!row)
		return;
	row->ticks += ticks;
	row->timed++;
	u32 class = 63 - (u32)__builtin_clzll(ticks | 1);
	row->times[class < HT_TIME_CLASSES ? class : HT_TIME_CLASSES - 1]++;
}

// If no module defines an operator, its hook does the work itself, under its guard: that is the operator's time.
HT_INLINE u64 kind_of(u64 kind, struct ht_caller c)
{
	if (ht_likely(ht_local.operator.sp == 0))
		return kind;
	if (ht_local.operator.sp == c.sp)
		return ht_local.operator.kind;
	return ht_is_nested(c) ? 0 : kind;
}

#define TIMED(TYPE, name, kind_, PARAMETERS, ARGUMENTS) \
	static TYPE timed_##name PARAMETERS \
	{ \
		struct ht_caller c = hook_caller(HT_FRAME()); \
		u64 kind = kind_of(kind_, c), begin = now(); \
		TYPE result = direct.name ARGUMENTS; \
		if (kind) \
			took(kind, begin, c); \
		return result; \
	}

#define TIMED_VOID(TYPE, name, kind_, PARAMETERS, ARGUMENTS) \
	static void timed_##name PARAMETERS \
	{ \
		struct ht_caller c = hook_caller(HT_FRAME()); \
		u64 kind = kind_of(kind_, c), begin = now(); \
		direct.name ARGUMENTS; \
		if (kind) \
			took(kind, begin, c); \
	}

HT_REAL_CALLS(TIMED, TIMED_VOID)

// All operators take up to three words. The result of those that return nothing is whatever is in the register.
#define TIMED_OPERATOR(number, kind) \
	static void *timed_##number(u64 a, u64 b, u64 c) \
	{ \
		void *(*real)(u64, u64, u64) = (void *(*)(u64, u64, u64))operators[number]; \
		struct ht_caller caller = hook_caller(HT_FRAME()); \
		if (ht_local.operator.sp != caller.sp) \
			return real(a, b, c); \
		u64 begin = now(); \
		void *result = real(a, b, c); \
		took(kind, begin, caller); \
		return result; \
	}

#define OPERATORS(X) \
	X(0, HT_K_NEW) \
	X(1, HT_K_NEW_ARRAY) \
	X(2, HT_K_NEW_NOTHROW) \
	X(3, HT_K_NEW_ARRAY_NOTHROW) \
	X(4, HT_K_NEW_ALIGNED) \
	X(5, HT_K_NEW_ARRAY_ALIGNED) \
	X(6, HT_K_NEW_ALIGNED_NOTHROW) \
	X(7, HT_K_NEW_ARRAY_ALIGNED_NOTHROW) \
	X(8, HT_K_DELETE) \
	X(9, HT_K_DELETE_ARRAY) \
	X(10, HT_K_DELETE_SIZED) \
	X(11, HT_K_DELETE_ARRAY_SIZED) \
	X(12, HT_K_DELETE_NOTHROW) \
	X(13, HT_K_DELETE_ARRAY_NOTHROW) \
	X(14, HT_K_DELETE_ALIGNED) \
	X(15, HT_K_DELETE_ARRAY_ALIGNED) \
	X(16, HT_K_DELETE_SIZED_ALIGNED) \
	X(17, HT_K_DELETE_ARRAY_SIZED_ALIGNED) \
	X(18, HT_K_DELETE_ALIGNED_NOTHROW) \
	X(19, HT_K_DELETE_ARRAY_ALIGNED_NOTHROW)

OPERATORS(TIMED_OPERATOR)

static void *time_operator(u32 number, void *function)
{
#define WRAPPER(number, kind) (void *)timed_##number,
	static void *const wrappers[PLAIN_OPERATORS] = {OPERATORS(WRAPPER)};
	if (number >= PLAIN_OPERATORS)
		return function;
	ht_store_release(&operators[number], function);
	return wrappers[number];
}

int ht_is_timed(void)
{
	return direct.malloc != 0;
}

void ht_timed_init(void)
{
	direct = ht_real;
#define TIME(TYPE, name, ...) \
	if (direct.name) \
		ht_real.name = timed_##name;
	HT_REAL_CALLS(TIME, TIME)
	ht_real_wrap_operators(time_operator);
}
