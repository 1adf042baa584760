// SPDX-License-Identifier: Apache-2.0
//
// nonlocal_exits.cc: frames that are left or entered otherwise than by call and return: callbacks of the C library,
// exceptions, longjmp, signals, coroutines.

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include "tree.h"

// ---- callbacks

static int compare_numbers(const void *a, const void *b)
{
	if (rnd() % 8 == 0)
		leaf();
	return *(const int *)a < *(const int *)b ? -1 : 1;
}

NI void sorting(int depth)
{
	int numbers[400];
	size_t n = rnd() % 16 ? 12 : 400; // more than 1 KiB is sorted in allocated memory
	for (size_t i = 0; i < n; i++)
		numbers[i] = (int)rnd();
	qsort(numbers, n, sizeof(int), compare_numbers);
	int key = (int)rnd();
	bsearch(&key, numbers, n, sizeof(int), compare_numbers);
	any(depth);
	sink = sink + numbers[3];
}

// ---- exceptions

struct Guard {
	~Guard()
	{
		leaf();
	}
};

NI static void thrower(int depth, unsigned frames)
{
	Guard g;
	volatile char room[24];
	room[3] = (char)depth;
	if (frames)
		thrower(depth, frames - 1);
	else {
		any(depth);
		if (rnd() % 2)
			throw depth;
	}
	sink = sink + room[3];
}

static void catch_from(int depth, unsigned frames)
{
	try {
		Guard g;
		thrower(depth, frames);
	} catch (int n) {
		sink = sink + n;
		leaf();
		any(depth);
		if (rnd() % 4 == 0) {
			try {
				throw; // the same again
			} catch (...) {
				leaf();
			}
		}
	}
}

NI void catching(int depth)
{
	catch_from(depth, 0);
}

NI void catching_deep(int depth)
{
	catch_from(depth > 4 ? 4 : depth, 1 + (unsigned)(rnd() % 60));
}

// A forced unwinding, as in pthread_exit: its stop function runs above libgcc's own frames and those being left.
struct forced_unwind {
	_Unwind_Exception exception;
	jmp_buf out;
	_Unwind_Word stop_at;
	int level;
};

static _Unwind_Reason_Code stop(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception *,
				_Unwind_Context *context, void *data)
{
	forced_unwind *f = (forced_unwind *)data;
	leaf();
	if (_Unwind_GetCFA(context) > f->stop_at)
		longjmp(f->out, 1);
	return _URC_NO_REASON;
}

NI static void force(forced_unwind *f, unsigned frames)
{
	Guard g;
	if (frames)
		force(f, frames - 1);
	else
		_Unwind_ForcedUnwind(&f->exception, stop, f);
}

NI void forced(int depth)
{
	volatile char here = 0;
	forced_unwind *f = (forced_unwind *)calloc(1, sizeof(*f));
	f->stop_at = (_Unwind_Word)&here;
	int level = check_level;
	if (setjmp(f->out) == 0)
		force(f, (unsigned)(rnd() % 20));
	check_level = level;
	free(f);
	any(depth);
}

// ---- longjmp

NI static void jumper(int depth, int far, jmp_buf out)
{
	volatile char room[100];
	room[3] = 1;
	leaf();
	if (far > 0 && rnd() % 8)
		jumper(depth, far - 1, out);
	else
		any(depth / 2);
	if (rnd() % 2)
		longjmp(out, 1);
	sink = sink + room[3];
}

NI static void jump(int depth, int far)
{
	jmp_buf here;
	int level = check_level;
	if (setjmp(here) == 0)
		jumper(depth, far, here);
	check_level = level;
	leaf(); // the memo is that of deeper frames
	any(depth);
}

NI void jumping(int depth)
{
	jump(depth, 3);
}

NI void jumping_deep(int depth)
{
	jump(depth, 40);
}

// ---- signals

NI void signalled(int depth)
{
	raise(SIGUSR1);
	any(depth);
}

NI void signalled_elsewhere(int depth)
{
	raise(SIGUSR2);
	any(depth);
}

// ---- coroutines

struct coroutine {
	ucontext_t back, own;
	int depth, runs;
};
static thread_local coroutine *running; // of this thread
static thread_local int nested;

static void coroutine_main()
{
	coroutine *c = running;
	check_start_context = __builtin_return_address(0);
	for (int i = 0; i < c->runs; i++) {
		any(c->depth);
		swapcontext(&c->own, &c->back);
	}
}

NI static void run_coroutine(void *stack, size_t size, int depth)
{
	coroutine c = {};
	c.depth = depth < 12 ? depth : 12; // small stacks
	c.runs = 3;
	getcontext(&c.own);
	c.own.uc_stack.ss_sp = stack;
	c.own.uc_stack.ss_size = size - 16 * (rnd() % 256); // frames come to lie at all places within their pages
	c.own.uc_link = &c.back;
	makecontext(&c.own, coroutine_main, 0);
	for (int i = 0; i <= c.runs; i++) {
		running = &c;
		swapcontext(&c.back, &c.own);
	}
}

static char *new_stack(size_t size)
{
	return (char *)mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

NI void in_coroutine(int depth)
{
	if (nested == 3)
		return any(depth);
	nested++;
	size_t big = 1 << 20;
	char *m = new_stack(big);
	run_coroutine(m, big, depth);
	// First smaller at the same address, then unmapped. The next mapping often takes the address.
	munmap(m + big / 2, big / 2);
	run_coroutine(m, big / 2, depth);
	munmap(m, big / 2);
	switch (rnd() % 4) {
	case 0: {
		char *n = new_stack(big / 4);
		run_coroutine(n, big / 4, depth);
		munmap(n, big / 4);
		break;
	}
	case 1: {
		void *h = malloc(300000);
		run_coroutine(h, 300000, depth);
		free(h);
		break;
	}
	case 2: {
		if (nested > 1) // we are on a stack that is too small for that
			break;
		char *here = (char *)__builtin_alloca(300000);
		run_coroutine(here, 300000, depth);
		break;
	}
	case 3: {
		// A stack whose mapping has grown, with frames across its former end.
		char *n = new_stack(big);
		size_t upper = (1 + rnd() % 8) * 4096, size = big - upper;
		munmap(n + size, upper);
		run_coroutine(n, size, depth);
		int flags =
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE; // another thread may have taken its place
		if (mmap(n + size, upper, PROT_READ | PROT_WRITE, flags, -1, 0) == n + size) {
			size = big;
			run_coroutine(n, size, depth);
		}
		munmap(n, size);
	}
	}
	nested--;
}
