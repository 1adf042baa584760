// SPDX-License-Identifier: Apache-2.0
//
// check.h: captures the stack of an event with the unwinder and compares it with libgcc's.
#ifndef HT_CHECK_H
#define HT_CHECK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An event of the function that calls this.
void check_event(void);
// Which of the thread's memos is in use. Read it before a setjmp, and set it after a longjmp.
extern __thread int check_level;
extern long check_events, check_mismatches, check_truncated;
// Set if signals may come at any instruction, including those few for which the call frame information itself is wrong:
// there the comparison may end early, see check.c.
extern int check_lenient;
// An address in the C library's function that calls a coroutine's first function; null if unknown.
extern const void *check_start_context;

// What is known of a stack beyond the frame of generated code at which libgcc stops. If the code keeps no frame
// pointers (not exact), its callers are unknown, and the comparison stops there, too.
struct check_known {
	struct check_known *outer;
	unsigned count;
	int exact;
	uint64_t pcs[1000];
};
// Appends the caller's stack to k, as libgcc sees it, with `after` instead of the caller's own return address. k is
// used from now on, until check_forget.
void check_remember(struct check_known *k, const char *after);
void check_forget(void);

void check_start(void);
// Returns 0, 1, or CHECK_TRUNCATED if all stacks were right and only too many of them ended early.
int check_report(const char *name, long at_least);
enum { CHECK_TRUNCATED = 3 };

#ifdef __cplusplus
}
#endif
#endif
