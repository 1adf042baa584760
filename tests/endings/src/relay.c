// SPDX-License-Identifier: Apache-2.0
//
// relay ROUNDS: in a parent and a forked child, four threads leave blocks for one another in common places, reallocate
// some and free what they find: blocks live long and short, and most are freed by another thread than their own.
#include "step.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 4, PLACES = 4096 };

static _Atomic(void *) places[PLACES];
static long rounds;

static void *work(void *arg)
{
	unsigned r = (unsigned)(unsigned long)arg * 2654435761u + 1;
	for (long i = 0; i < rounds; i++) {
		r = r * 1664525 + 1013904223;
		void *mine = step_alloc(16 + (r >> 20) % 700);
		if ((r >> 9) % 8 == 0)
			mine = step_realloc(mine, 1 + (r >> 15) % 3000);
		void *old = atomic_exchange(&places[(r >> 8) % PLACES], mine);
		if (old)
			step_free(old);
		if (i % 4096 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atol(argv[1]) : 1000;
	pid_t child = fork();
	if (child == 0)
		step_child();
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return 7;
}
