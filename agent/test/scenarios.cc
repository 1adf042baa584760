// SPDX-License-Identifier: Apache-2.0
//
// scenarios.cc: everything that may happen to a stack, with an event wherever it may. Compiled in many ways.

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#define NI __attribute__((noinline, noclone))
#if defined(__clang__)
#undef NI
#define NI __attribute__((noinline))
#endif

static __thread uint64_t seed = 88172645463325252ull;
static volatile long sink;

static uint64_t rnd()
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

// ---- a random tree of calls, with frames of all kinds

static void any(int depth);
static int calm; // no exceptions, no C library: a signal handler may leave by longjmp anywhere

template <int N> NI static void plain(int depth)
{
	volatile char room[16 + 24 * N];
	room[0] = (char)depth;
	any(depth);
	sink += room[0];
}

NI static void with_alloca(int depth)
{
	size_t n = 16 + rnd() % 2000;
	volatile char *p = (volatile char *)alloca(n);
	p[n - 1] = 1;
	any(depth);
	sink += p[n - 1];
}

NI static void realigned(int depth)
{
	alignas(64) volatile char room[128];
	room[5] = (char)depth;
	any(depth);
	sink += room[5];
}

NI static void realigned_alloca(int depth)
{
	alignas(128) volatile char room[128];
	volatile char *p = (volatile char *)alloca(16 + rnd() % 300);
	p[0] = room[5] = (char)depth;
	any(depth);
	sink += room[5] + p[0];
}

NI static void many_arguments(int depth, long a, long b, long c, long d, long e, long f, long g, long h)
{
	any(depth);
	sink += a + b + c + d + e + f + g + h;
}

NI static long many_registers(int depth, long a, long b, long c, long d)
{
	long x = a * 3, y = b * 5, z = c * 7, w = d * 9, v = a ^ b, u = c ^ d;
	any(depth);
	any(depth - 1);
	return x + y * z - w + v * u;
}

static int compare_numbers(const void *a, const void *b)
{
	if (rnd() % 8 == 0)
		check_event();
	return *(const int *)a - *(const int *)b;
}

NI static void sorting(int depth)
{
	int numbers[12];
	for (int &n : numbers)
		n = (int)rnd();
	qsort(numbers, 12, sizeof(int), compare_numbers);
	any(depth);
	sink += numbers[3];
}

struct Guard {
	~Guard()
	{
		check_event();
	}
};

NI static void thrower(int depth)
{
	Guard g;
	any(depth);
	if (rnd() % 3 == 0)
		throw depth;
}

NI static void catcher(int depth)
{
	try {
		Guard g;
		thrower(depth);
	} catch (int n) {
		sink += n;
		check_event();
		any(depth);
	}
}

NI static void jumper(int depth, jmp_buf out)
{
	volatile char room[100];
	room[3] = 1;
	check_event();
	if (depth > 0 && rnd() % 2)
		jumper(depth - 1, out);
	if (rnd() % 2)
		longjmp(out, 1);
	sink += room[3];
}

NI static void jumping(int depth)
{
	jmp_buf here;
	int level = check_level;
	if (setjmp(here) == 0)
		jumper(5, here);
	check_level = level;
	check_event();
	any(depth);
}

NI static void signalled(int depth)
{
	raise(SIGUSR1);
	any(depth);
}

NI static void signalled_elsewhere(int depth)
{
	raise(SIGUSR2);
	any(depth);
}

NI static void any(int depth)
{
	unsigned what = rnd() % (calm ? 28 : 40);
	if (depth <= 0 || what < 10) {
		check_event();
		return;
	}
	depth--;
	switch (what) {
	case 10:
	case 11:
		plain<0>(depth);
		break;
	case 12:
	case 13:
		plain<1>(depth);
		break;
	case 14:
	case 15:
		plain<7>(depth);
		break;
	case 16:
	case 17:
		plain<100>(depth);
		break;
	case 18:
	case 19:
		with_alloca(depth);
		break;
	case 20:
	case 21:
		realigned(depth);
		break;
	case 22:
	case 23:
		realigned_alloca(depth);
		break;
	case 24:
	case 25:
		many_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8);
		break;
	case 26:
	case 27:
		sink += many_registers(depth, what, depth, sink, 3);
		break;
	case 28:
		sorting(depth);
		break;
	case 29:
	case 30:
		catcher(depth);
		break;
	case 31:
		jumping(depth);
		break;
	case 32:
		signalled(depth);
		break;
	case 33:
		signalled_elsewhere(depth);
		break;
	default:
		any(depth);
		check_event();
	}
	if (rnd() % 4 == 0)
		any(depth - 2);
}

static void on_signal(int)
{
	check_event();
	uint64_t saved = seed;
	if (rnd() % 4 == 0)
		plain<3>(0);
	else if (rnd() % 4 == 0)
		realigned(1);
	seed = saved * 3 | 1;
	check_event();
}

static void on_timer(int)
{
	uint64_t saved = seed;
	check_event();
	plain<2>(0);
	check_event();
	seed = saved;
}

static void signal_stack(void *memory, size_t size)
{
	stack_t s = {};
	s.ss_sp = memory;
	s.ss_size = size;
	sigaltstack(&s, 0);
}

static void handlers()
{
	struct sigaction a = {};
	a.sa_handler = on_signal;
	sigaction(SIGUSR1, &a, 0);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, 0);
	a.sa_handler = on_timer;
	a.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGALRM, &a, 0);
	a.sa_flags = SA_RESTART;
	sigaction(SIGVTALRM, &a, 0);
}

// ---- a handler that leaves by longjmp, perhaps out of the middle of the unwinder

static sigjmp_buf way_out;
static volatile sig_atomic_t escapes, may_escape;

static void on_escape(int)
{
	check_event();
	if (may_escape) {
		may_escape = 0;
		escapes = escapes + 1;
		siglongjmp(way_out, 1);
	}
}

NI static void escaping(long rounds)
{
	struct sigaction a = {};
	struct itimerval t = {{0, 150}, {0, 150}};
	a.sa_handler = on_escape;
	sigaction(SIGPROF, &a, 0);
	calm = 1;
	setitimer(ITIMER_PROF, &t, 0);
	for (volatile long i = 0; i < rounds * 20; i = i + 1) {
		if (sigsetjmp(way_out, 1) == 0) {
			may_escape = 1;
			any(30);
		}
		may_escape = 0;
		check_level = 0;
		any(10);
	}
	t = {};
	setitimer(ITIMER_PROF, &t, 0);
	calm = 0;
}

// ---- coroutines

static __thread ucontext_t back, coroutine;

static void coroutine_main()
{
	for (int i = 0; i < 3; i++) {
		any(6);
		swapcontext(&coroutine, &back);
	}
}

NI static void run_coroutine(void *stack, size_t size)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &back;
	makecontext(&coroutine, coroutine_main, 0);
	for (int i = 0; i < 4; i++) {
		swapcontext(&back, &coroutine);
		any(3);
		if (i == 3)
			break;
	}
}

NI static void coroutines()
{
	size_t big = 1 << 20;
	char *m = (char *)mmap(0, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	run_coroutine(m, big);
	run_coroutine(m, big);
	// Smaller at the same place, then gone.
	munmap(m + big / 2, big / 2);
	run_coroutine(m, big / 2);
	munmap(m, big / 2);
	any(4);
	void *h = malloc(600000);
	run_coroutine(h, 600000);
	free(h);
	char *here = (char *)alloca(400000);
	run_coroutine(here, 400000);
}

// ---- threads

static void *thread_main(void *number)
{
	seed ^= (uint64_t)(uintptr_t)number * 0x9e3779b97f4a7c15ull;
	size_t size = 1 << 18;
	void *alt = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal_stack(alt, size);
	for (int i = 0; i < 60; i++)
		any(20);
	coroutines();
	stack_t off = {};
	off.ss_flags = SS_DISABLE;
	sigaltstack(&off, 0);
	munmap(alt, size);
	any(10);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	long rounds = argc > 2 ? atol(argv[2]) : 100;
	char on_main_stack[1 << 18];
	check_start();
	handlers();
	signal_stack(on_main_stack, sizeof(on_main_stack));
	if (strcmp(what, "timers") == 0) {
		struct itimerval t = {{0, 300}, {0, 300}};
		check_lenient = 1;
		setitimer(ITIMER_REAL, &t, 0);
		setitimer(ITIMER_VIRTUAL, &t, 0);
	}
	if (strcmp(what, "escapes") == 0)
		escaping(rounds);
	for (long i = 0; i < rounds; i++) {
		any(30);
		if (i % 16 == 0)
			coroutines();
	}
	if (strcmp(what, "threads") == 0) {
		pthread_t t[8];
		for (uintptr_t i = 0; i < 8; i++)
			pthread_create(&t[i], 0, thread_main, (void *)(i + 1));
		for (pthread_t &one : t)
			pthread_join(one, 0);
	}
	struct itimerval none = {};
	setitimer(ITIMER_REAL, &none, 0);
	setitimer(ITIMER_VIRTUAL, &none, 0);
	if (strcmp(what, "escapes") == 0 && escapes < 10) {
		printf("only %d escapes\n", (int)escapes);
		return 1;
	}
	char name[100];
	snprintf(name, sizeof(name), "%s %s",
		 argv[0] + (strrchr(argv[0], '/') ? strrchr(argv[0], '/') - argv[0] + 1 : 0), what);
	return check_report(name, 100);
}
