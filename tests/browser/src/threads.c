// Many threads, one after the other in groups, each with blocks of its own: 2,000, or the number that is given.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 50 };

static void *volatile kept[1 << 16];

__attribute__((noinline)) static void *keep(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) static void *waste(size_t size)
{
	void *p = calloc(1, size);
	free(p);
	return p;
}

static void *work(void *arg)
{
	long i = (long)arg;
	char name[16];
	snprintf(name, sizeof name, "worker-%ld", i);
	pthread_setname_np(pthread_self(), name);
	for (int n = 0; n < 3; n++)
		waste(100 + i % 7);
	kept[i] = keep(1000 + i);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 2000;
	for (long i = 0; i < count; i += AT_ONCE) {
		pthread_t threads[AT_ONCE];
		for (long n = 0; n < AT_ONCE && i + n < count; n++)
			if (pthread_create(&threads[n], NULL, work, (void *)(i + n)))
				return 1;
		for (long n = 0; n < AT_ONCE && i + n < count; n++)
			pthread_join(threads[n], NULL);
	}
	return 0;
}
