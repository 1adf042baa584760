// SPDX-License-Identifier: Apache-2.0
//
// check.h: one event, taken by the unwinder and compared with libgcc's.
#ifndef HT_CHECK_H
#define HT_CHECK_H

#ifdef __cplusplus
extern "C" {
#endif

// An event of the function that calls this.
void check_event(void);
// A signal handler or a longjmp: which of the thread's memos is in use. Read before, set after a longjmp.
extern __thread int check_level;
extern long check_events, check_mismatches, check_truncated;
// Signals come at any instruction, also at those few of libc's makecontext for which its information is wrong: a few stacks
// may then be truncated.
extern int check_lenient;
void check_start(void);
int check_report(const char *name, long at_least);

#ifdef __cplusplus
}
#endif
#endif
