// SPDX-License-Identifier: Apache-2.0
//
// operators.h: the C++ operators of count.c, by their mangled names, since this library must not need a C++ runtime.
//
// operator new notes the size it was asked for and calls the real one. If that calls malloc, the block is counted there,
// with the noted size; an allocator with operators of its own (jemalloc) does not, and the block is counted here. Nothing
// is left set when the real one throws: malloc has taken the note by then.
#define NEW(name, params, args) \
	EXPORT void *name params \
	{ \
		static void *(*real)params; \
		ready(); \
		if (!real) \
			real = next(#name); \
		asked = n; \
		asked_set = 1; \
		void *p = real args; \
		if (asked_set) \
			allocated(F_OPERATOR_NEW, p, n); \
		return p; \
	}

NEW(_Znwm, (size_t n), (n))
NEW(_Znam, (size_t n), (n))
NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), (n, t))
NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *t), (n, t))
NEW(_ZnwmSt11align_val_t, (size_t n, size_t a), (n, a))
NEW(_ZnamSt11align_val_t, (size_t n, size_t a), (n, a))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t))

#define DELETE(name, params, args) \
	EXPORT void name params \
	{ \
		static void(*real) params; \
		ready(); \
		if (!real) \
			real = next(#name); \
		if (p && dying != p) { \
			ended(F_OPERATOR_DELETE, p); \
			dying = p; \
		} \
		real args; \
		dying = NULL; \
	}

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t n), (p, n))
DELETE(_ZdaPvm, (void *p, size_t n), (p, n))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *t), (p, t))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t))
