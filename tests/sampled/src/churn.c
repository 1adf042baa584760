// SPDX-License-Identifier: Apache-2.0
//
// Threads allocate, grow and free what lies in slots that all of them share, for some milliseconds, and free all of it
// in the end; then a forked child does the same with what it has inherited.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 2000
#define THREADS 4

static void *slots[SLOTS];
static long milliseconds;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *churn(void *seed)
{
	unsigned long x = (unsigned long)seed;
	for (long end = now() + milliseconds; now() < end;)
		for (int i = 0; i < 100; i++) {
			x = x * 6364136223846793005ul + 1442695040888963407ul;
			void **slot = &slots[(x >> 40) % SLOTS],
			     *p = __atomic_exchange_n(slot, (void *)0, __ATOMIC_SEQ_CST);
			unsigned long size = (x >> 20) % 2000;
			switch (x >> 60) {
			case 0:
			case 1:
			case 2:
				p = realloc(p, size + 1);
				break;
			case 3:
				free(p);
				p = calloc(size + 1, 2);
				break;
			case 4:
				free(p);
				if (posix_memalign(&p, 64, size))
					p = 0;
				break;
			default:
				free(p);
				p = malloc(size);
			}
			free(__atomic_exchange_n(slot, p, __ATOMIC_SEQ_CST));
		}
	return 0;
}

static void all(void)
{
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, churn, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
}

static void end(void)
{
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
}

int main(int argc, char **argv)
{
	int status = 0;
	milliseconds = argc > 1 ? atol(argv[1]) : 1000;
	all();
	pid_t child = fork();
	if (child == 0) {
		all();
		end();
		_exit(0);
	}
	end();
	return child < 0 || waitpid(child, &status, 0) < 0 || status != 0;
}
