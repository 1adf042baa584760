// SPDX-License-Identifier: Apache-2.0
//
// trace.h: the stack as libgcc sees it, and as it is expected.
#ifndef HT_TRACE_H
#define HT_TRACE_H

#include <stdint.h>
#include <unwind.h>

#include "check.h"

#define TRACE_MAX 8192

struct trace {
	uint64_t *pcs;
	unsigned count;
	int exact; // 0: the rest is unknown
};

static inline _Unwind_Reason_Code trace_one(struct _Unwind_Context *context, void *data)
{
	struct trace *t = (struct trace *)data;
	if (t->count == TRACE_MAX)
		return _URC_END_OF_STACK;
	t->pcs[t->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

// Drops the frames inside the one with return address `pc`.
static inline void trace_trim(struct trace *t, uint64_t pc)
{
	unsigned skip = 0;
	while (skip < t->count && t->pcs[skip] != pc)
		skip++;
	t->pcs += skip;
	t->count -= skip;
	while (t->count && t->pcs[t->count - 1] == 0)
		t->count--;
}

// Sets t to the stack from the innermost frame with return address `pc` on, completed by what is known beyond generated
// code.
static inline void trace_from(struct trace *t, uint64_t pc, const struct check_known *known)
{
	uint64_t *end = t->pcs + TRACE_MAX;
	t->count = 0;
	t->exact = !known || known->exact;
	_Unwind_Backtrace(trace_one, t);
	trace_trim(t, pc);
	for (unsigned i = 0; known && known->exact && i < known->count && t->pcs + t->count < end; i++)
		t->pcs[t->count++] = known->pcs[i];
}

#endif
