// SPDX-License-Identifier: Apache-2.0
//
// Allocates from a few functions in every way, in several threads and a forked child, and prints what each function has
// asked for: its name, calls and bytes of the process itself.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

enum { SMALL, MIXED, LARGE, GROWN, ZEROED, ALIGNED, KEPT, HANDLED, SITES };
static const char *const names[SITES] = {"small", "mixed", "large", "grown", "zeroed", "aligned", "kept", "handled"};
static unsigned long calls[SITES], bytes[SITES];

static void *count(int site, void *p, unsigned long size)
{
	if (!p)
		abort();
	__atomic_fetch_add(&calls[site], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes[site], size, __ATOMIC_RELAXED);
	return p;
}

#define SITE __attribute__((noinline)) static void

SITE small(int n)
{
	for (int i = 0; i < n; i++)
		free(count(SMALL, malloc(24), 24));
}

SITE mixed(int n)
{
	void *window[16] = {0};
	for (int i = 0; i < n; i++) {
		unsigned long size = (unsigned long)i * 7919 % 5000;
		free(window[i % 16]);
		window[i % 16] = count(MIXED, malloc(size), size);
	}
	for (int i = 0; i < 16; i++)
		free(window[i]);
}

SITE large(int n)
{
	for (int i = 0; i < n; i++)
		free(count(LARGE, malloc(100000), 100000));
}

SITE grown(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = 0;
		for (unsigned long size = 50; size < 20000; size *= 3)
			p = count(GROWN, realloc(p, size), size);
		free(p);
	}
}

SITE zeroed(int n)
{
	for (int i = 0; i < n; i++)
		free(count(ZEROED, calloc(7, 100), 700));
}

SITE aligned(int n)
{
	void *p;
	for (int i = 0; i < n; i++)
		if (posix_memalign(&p, 64, 1000) == 0)
			free(count(ALIGNED, p, 1000));
}

SITE kept(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = count(KEPT, malloc(3000), 3000);
		(void)p;
	}
}

SITE handled(int signal)
{
	(void)signal;
	free(count(HANDLED, malloc(400), 400));
}

static void *work(void *arg)
{
	int n = *(int *)arg;
	small(40 * n);
	mixed(4 * n);
	large(n / 10);
	grown(n / 4);
	zeroed(4 * n);
	aligned(2 * n);
	kept(n / 2);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, status;
	pthread_t threads[THREADS];

	signal(SIGALRM, handled);
	for (int i = 0; i < 4 * n; i++)
		raise(SIGALRM);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, &n);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	pid_t child = fork();
	if (child == 0) {
		work(&n);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return 1;
	for (int i = 0; i < SITES; i++)
		printf("%s %lu %lu\n", names[i], calls[i], bytes[i]);
	return 0;
}
