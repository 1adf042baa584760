// SPDX-License-Identifier: Apache-2.0
//
// hooks_exit.c: notes the exit status of the process and its largest resident set. Nobody but its parent learns the
// status from every kernel, and of the memory nobody has a number that is the program's alone.
//
// A child of vfork calls _exit in the memory of its parent, so the process id is compared first. Handlers of signals
// call _exit on stacks that have room for nothing else, so the text of the kernel's answer is not on the stack.

#include "base/base.h"
#include "base/proc.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"

static void note(int status)
{
	if (!ht_header || !ht_array_has(HT_SEG_PROCS, ht_process) || (u32)ht_sys0(__NR_getpid) != ht_pid)
		return;
	static char buffer[4096] HT_LARGE;
	static u32 taken; // and never given back: one note is enough, and a handler may interrupt it
	if (!__atomic_exchange_n(&taken, 1, __ATOMIC_RELAXED)) {
		i64 resident = ht_status_number("VmHWM:", buffer, sizeof(buffer)); // in KiB
		if (resident > 0)
			ht_store(&ht_procs[ht_process].resident, (u64)resident << 10);
	}
	ht_store(&ht_procs[ht_process].ended, HT_ENDED | ((u32)status & 0xff));
}

static void at_exit(int status, void *unused)
{
	(void)unused;
	note(status);
}

// glibc calls such functions for exit and for the end of main, those that were registered first last.
int on_exit(void (*)(int, void *), void *) __attribute__((weak));

__attribute__((constructor)) static void begin(void)
{
	if (on_exit)
		on_exit(at_exit, 0);
}

static _Noreturn void leave(int status)
{
	note(status);
	for (;;)
		ht_syscall(__NR_exit_group, status, 0, 0, 0, 0, 0);
}

HT_EXPORT _Noreturn void _exit(int status)
{
	leave(status);
}

HT_EXPORT _Noreturn void _Exit(int status)
{
	leave(status);
}
