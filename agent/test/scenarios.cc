// SPDX-License-Identifier: Apache-2.0
//
// scenarios.cc: everything that can happen to a stack, one kind at a time and mixed, with events everywhere. Compiled
// with many flags. Arguments: the scenario and the least number of events.
//
// Every event that counts for a scenario has a frame of its kind on the stack, or comes right after one.

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tree.h"

static long wanted;

static long events()
{
	return __atomic_load_n(&check_events, __ATOMIC_RELAXED);
}

static void set_handler(int signal, void (*f)(int), int flags)
{
	struct sigaction a = {};
	a.sa_handler = f;
	a.sa_flags = flags;
	sigaction(signal, &a, 0);
}

static void signal_stack(void *memory, size_t size)
{
	stack_t s = {};
	s.ss_sp = memory;
	s.ss_size = size;
	s.ss_flags = memory ? 0 : SS_DISABLE;
	sigaltstack(&s, 0);
}

static void on_signal(int)
{
	uint64_t saved = seed;
	leaf();
	if (rnd() % 4 == 0)
		plain_small(0);
	else if (rnd() % 4 == 0)
		realigned(0);
	leaf();
	seed = saved * 3 | 1;
}

static void repeat()
{
	while (events() < wanted)
		one(30);
}

// ---- timers: the handlers make the events, the program below them makes none

static volatile long unused;

static void work()
{
	static const char text[] = "some words to look at, some more to be compared with them";
	char copy[200], number[40];
	memcpy(copy, text, sizeof(text));
	unused = unused + (long)strlen(copy) + memcmp(copy, text, 30) + (strchr(copy, 'w') - copy);
	snprintf(number, sizeof(number), "%ld %s", unused, "and so on");
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	unused = unused + t.tv_nsec + strtol(number, 0, 10);
}

static timer_t timer_of[NSIG];

// One shot, so that the program below advances however long its handler takes.
static void arm(int signal)
{
	itimerspec once = {{0, 0}, {0, 20000 + (long)(rnd() % 30000)}};
	timer_settime(timer_of[signal], 0, &once, 0);
}

static void start_timer(int signal)
{
	sigevent e = {};
	e.sigev_notify = SIGEV_SIGNAL;
	e.sigev_signo = signal;
	if (timer_create(CLOCK_MONOTONIC, &e, &timer_of[signal])) {
		perror("timer_create");
		exit(1);
	}
	arm(signal);
}

static void on_timer(int signal)
{
	uint64_t saved = seed;
	auto below = leaf;
	leaf = check_event;
	leaf();
	plain_small(0);
	leaf = below;
	arm(signal);
	seed = saved;
}

static void timers()
{
	set_handler(SIGALRM, on_timer, SA_ONSTACK | SA_RESTART);
	set_handler(SIGVTALRM, on_timer, SA_RESTART);
	check_lenient = 1;
	leaf = work;
	start_timer(SIGALRM);
	start_timer(SIGVTALRM);
	repeat();
	timer_delete(timer_of[SIGALRM]);
	timer_delete(timer_of[SIGVTALRM]);
}

// ---- a handler that leaves by longjmp, perhaps out of the middle of the unwinder

static sigjmp_buf way_out;
static volatile sig_atomic_t escapes, may_escape;

static void on_escape(int signal)
{
	leaf();
	arm(signal);
	if (may_escape) {
		may_escape = 0;
		escapes = escapes + 1;
		siglongjmp(way_out, 1);
	}
}

static void escaping()
{
	set_handler(SIGALRM, on_escape, 0);
	start_timer(SIGALRM);
	while (events() < wanted) {
		if (sigsetjmp(way_out, 1) == 0) {
			may_escape = 1;
			any(30);
		}
		may_escape = 0;
		check_level = 0;
		any(10);
	}
	timer_delete(timer_of[SIGALRM]);
	if (escapes < wanted / 10000) {
		printf("only %d escapes\n", (int)escapes);
		exit(1);
	}
}

static void steps()
{
	stepping(wanted);
}

// ---- threads

static void *thread_main(void *number)
{
	seed ^= (uint64_t)(uintptr_t)number * 0x9e3779b97f4a7c15ull;
	size_t size = 1 << 18;
	void *alt = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal_stack(alt, size);
	for (int i = 0; i < 3; i++)
		one(20);
	signal_stack(0, 0);
	munmap(alt, size);
	any(10);
	return 0;
}

static void threads()
{
	uintptr_t number = 0;
	while (events() < wanted) {
		pthread_t t[40];
		for (pthread_t &each : t)
			pthread_create(&each, 0, thread_main, (void *)++number);
		for (pthread_t &each : t)
			pthread_join(each, 0);
	}
}

// ---------------------------------------------------------------------------------------------------------------------

#define LIST(...) \
	{ \
		__VA_ARGS__, nullptr \
	}
static const struct scenario {
	const char *name;
	void (*run)();
	maker *makers[16];
} scenarios[] = {
	{"exceptions", repeat, LIST(catching, catching_deep, forced)},
	{"qsort", repeat, LIST(sorting)},
	{"alloca", repeat, LIST(with_alloca, realigned_alloca)},
	{"realigned", repeat, LIST(realigned, realigned_alloca)},
	{"signal-stack", repeat, LIST(signalled_elsewhere)},
	{"signals", repeat, LIST(signalled)},
	{"timers", timers, LIST(catching_deep, sorting, jumping, in_coroutine, signalled_elsewhere)},
	{"longjmp", repeat, LIST(jumping, jumping_deep)},
	{"escapes", escaping, {}},
	{"coroutines", repeat, LIST(in_coroutine)},
	{"threads", threads, LIST(catching, sorting, jumping, signalled, signalled_elsewhere, in_coroutine)},
	{"steps", steps,
	 LIST(catching, signalled, catching, in_coroutine, sorting, signalled_elsewhere, jumping, forced)},
	{"generated", repeat, LIST(with_frame_pointer)},
	{"generated-nofp", repeat, LIST(without_frame_pointer, with_rbp_in_use)},
	{"generated-mixed", repeat, LIST(with_frame_pointer, without_frame_pointer, sorting, signalled_elsewhere)},
	{"mixed", repeat,
	 LIST(catching, catching_deep, sorting, jumping, signalled, signalled_elsewhere, in_coroutine)},
};

int main(int argc, char **argv)
{
	if (argc < 3) {
		for (const scenario &s : scenarios)
			printf("%s\n", s.name);
		return 0;
	}
	char on_main_stack[1 << 18];
	wanted = atol(argv[2]);
	set_handler(SIGUSR1, on_signal, 0);
	set_handler(SIGUSR2, on_signal, SA_ONSTACK);
	signal_stack(on_main_stack, sizeof(on_main_stack));
	for (const scenario &s : scenarios) {
		if (strcmp(s.name, argv[1]) != 0)
			continue;
		scenario_menu.makers = s.makers;
		while (s.makers[scenario_menu.count])
			scenario_menu.count++;
		check_start();
		s.run();
		return check_report(s.name, wanted);
	}
	printf("no scenario %s\n", argv[1]);
	return 2;
}
