// SPDX-License-Identifier: Apache-2.0
//
// guard.h: marks a real function as running, so that the calls it makes are treated as part of its event
// (docs/design/0002-the-agent.md, "Which call is nested").
#ifndef HT_GUARD_H
#define HT_GUARD_H

#include "base/base.h"
#include "base/local.h"

HT_INLINE u64 ht_stack_pointer(void)
{
	u64 sp;
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#endif
	return sp;
}

// Runs `call` as the real function of the hook whose caller is caller_. kind_ is 0 for a C function.
#define HT_GUARDED(kind_, size_, extra_kind_, extra_, caller_, call) \
	do { \
		struct ht_operator outer; \
		u64 had_outer = ht_local.operator.sp; \
		if (ht_unlikely(had_outer)) \
			outer = ht_local.operator; \
		ht_local.operator.asking = 0; \
		ht_local.operator.slot = ht_stack_pointer() - 8; \
		ht_local.operator.kind = kind_; \
		ht_local.operator.size = size_; \
		ht_local.operator.extra_kind = extra_kind_; \
		ht_local.operator.extra = extra_; \
		ht_local.operator.caller = caller_; \
		ht_local.operator.failed = 0; \
		HT_FENCE(); \
		ht_local.operator.sp = caller_.sp; \
		call; \
		ht_local.operator.sp = 0; \
		HT_FENCE(); \
		if (ht_unlikely(had_outer)) \
			ht_local.operator= outer; \
	} while (0)

#endif
