// SPDX-License-Identifier: Apache-2.0
//
// deep.c: recursion that allocates on its way down, to as many frames as its argument says. Prints how many
// microseconds of CPU time that has taken. Each frame has ROOM bytes of its own.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int frames;
static void *volatile last;

__attribute__((noinline)) static int down(int n)
{
#if ROOM
	char room[ROOM];
	__asm__ volatile("" : : "r"(room) : "memory");
#endif
	last = malloc(SIZE);
	return n > 1 ? down(n - 1) + (last != 0) : 0;
}

static void *run(void *unused)
{
	struct timespec t;
	down(frames);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	printf("%ld\n", t.tv_sec * 1000000L + t.tv_nsec / 1000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t a;
	pthread_t t;
	frames = argc > 1 ? atoi(argv[1]) : 1;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, (128ul + ROOM) * (unsigned)frames + (1 << 20));
	if (pthread_create(&t, &a, run, 0) != 0)
		return 1;
	return pthread_join(t, 0);
}
