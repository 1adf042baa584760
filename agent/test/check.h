// SPDX-License-Identifier: Apache-2.0
//
// check.h: one event, taken by the unwinder and compared with libgcc's.
#ifndef HT_CHECK_H
#define HT_CHECK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An event of the function that calls this.
void check_event(void);
// A signal handler or a longjmp: which of the thread's memos is in use. Read before, set after a longjmp.
extern __thread int check_level;
extern long check_events, check_mismatches, check_truncated;
// Set where signals come at any instruction, also at those few for which the call frame information itself is wrong:
// there the comparison may end early, see check.c.
extern int check_lenient;
// An address in the C library's function that calls a coroutine's first function; null if not known.
extern const void *check_start_context;

// What is known of a stack beyond the frame of generated code at which libgcc stops. If the code keeps no frame
// pointers (not exact) nobody knows its callers, and the comparison stops there too.
struct check_known {
	struct check_known *outer;
	unsigned count;
	int exact;
	uint64_t pcs[1000];
};
// Appends the caller's stack to k, as libgcc sees it, with `after` for the caller's own return address, and brings k
// into force; until check_forget.
void check_remember(struct check_known *k, const char *after);
void check_forget(void);

void check_start(void);
int check_report(const char *name, long at_least);

#ifdef __cplusplus
}
#endif
#endif
