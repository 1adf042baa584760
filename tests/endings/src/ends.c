// SPDX-License-Identifier: Apache-2.0
//
// ends.c: N steps, and then an end that leaves no time for anything. Usage: ends HOW N
#include "step.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

static void quick(void)
{
	steps(10);
}

static volatile int bottom = -1;

__attribute__((noinline, noclone)) static int overflow(int n)
{
	volatile char room[4000];
	room[0] = (char)n;
	if (n % 10 == 0)
		step_alloc(33);
	return n == bottom ? 0 : overflow(n + 1) + room[0];
}

static void *others(void *arg)
{
	steps((long)(intptr_t)arg);
	usleep(100000); // the main thread is gone by now
	steps((long)(intptr_t)arg);
	return NULL;
}

static void *forever(void *arg)
{
	for (;;)
		steps(1000);
	return arg;
}

static void start(void *(*f)(void *), int n, void *arg)
{
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, f, arg))
			_exit(9);
		pthread_detach(t);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
#define IS(name) (!strcmp(how, name))

	if (IS("threads-exit") || IS("threads-_exit") || IS("threads-kill") || IS("threads-segv"))
		start(forever, 3, NULL);
	if (IS("quick_exit"))
		at_quick_exit(quick);
	if (IS("hold")) { // N MiB, all at once
		for (long i = 0; i < n; i++) {
			void *p = step_alloc(1 << 20);
			if (!p)
				return 8;
			memset(p, 1, 1 << 20);
		}
		return 7;
	}
	steps(n);

	if (IS("return"))
		return 7;
	if (IS("exit") || IS("threads-exit"))
		exit(7);
	if (IS("_exit") || IS("threads-_exit"))
		_exit(7);
	if (IS("quick_exit"))
		quick_exit(7);
	if (IS("abort"))
		abort();
	if (IS("term"))
		raise(SIGTERM);
	if (IS("kill") || IS("threads-kill"))
		kill(getpid(), SIGKILL);
	if (IS("segv") || IS("threads-segv"))
		*(volatile int *)(size_t)(argc - 3) = 1;
	if (IS("overflow"))
		return overflow(0);
	if (IS("exec")) {
		execl("/proc/self/exe", argv[0], "return", argv[2], (char *)NULL);
		return 8;
	}
	if (IS("exec-fails")) {
		execl("/nowhere", argv[0], (char *)NULL);
		execl("/proc/self/cmdline", argv[0], (char *)NULL);
		steps(n);
		return 7;
	}
	if (IS("pthread_exit")) {
		start(others, 3, (void *)(intptr_t)n);
		pthread_exit(NULL);
	}
	if (IS("forever")) // until somebody kills it
		forever(NULL);
	if (IS("threads-forever")) {
		start(forever, 3, NULL);
		forever(NULL);
	}
	if (IS("oom"))
		for (;;)
			memset(step_alloc(2000), 1, 2000);
	return 9;
}
