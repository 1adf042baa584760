// SPDX-License-Identifier: Apache-2.0
//
// plugins.c: loads plugins in turn, lets several threads allocate through them, and unloads them again.
//
//   plugins shared ROUNDS THREADS FILE FUNCTION COUNT ...   one plugin at a time, called by all threads
//   plugins apart  ROUNDS THREADS FILE FUNCTION COUNT ...   each thread loads plugins on its own; as many per thread
//
// Prints for each plugin a line: FILE FUNCTION allocations bytes, and at last how often a plugin came to lie where the
// one before it had been: same N of M. Half of the blocks are freed after the plugin is gone.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

typedef void function(void **out, int count, size_t size);

static struct plugin {
	const char *file, *name;
	int count; // blocks for each call
	long allocations, bytes;
} plugins[MOST];
static int plugin_count, rounds, threads;
static long same, loads;

static void *load(const struct plugin *p, function **f)
{
	void *h = dlopen(p->file, RTLD_NOW | RTLD_LOCAL);
	if (!h || !(*f = (function *)dlsym(h, p->name))) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return h;
}

struct blocks {
	void *p[MOST];
	int n;
};

// Keeps every other block until the next call.
static void use(struct plugin *p, function *f, struct blocks *kept, int round)
{
	void *out[MOST];
	size_t size = 64 + (size_t)round % 100;
	f(out, p->count, size);
	__atomic_fetch_add(&p->allocations, p->count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->bytes, (long)size * p->count, __ATOMIC_RELAXED);
	while (kept->n)
		free(kept->p[--kept->n]);
	for (int i = 0; i < p->count; i++) {
		if (i % 2)
			kept->p[kept->n++] = out[i];
		else
			free(out[i]);
	}
}

// ---- one plugin for all

static pthread_barrier_t begin, end;
static struct plugin *now;
static function *now_f;
static int round_now;

static void *worker(void *unused)
{
	struct blocks kept = {{0}, 0};
	for (;;) {
		pthread_barrier_wait(&begin);
		if (!now)
			break;
		use(now, now_f, &kept, round_now);
		pthread_barrier_wait(&end);
	}
	while (kept.n)
		free(kept.p[--kept.n]);
	return unused;
}

static void shared(void)
{
	pthread_t t[MOST];
	function *before = 0;
	pthread_barrier_init(&begin, 0, (unsigned)threads + 1);
	pthread_barrier_init(&end, 0, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], 0, worker, 0);
	for (round_now = 0; round_now < rounds; round_now++) {
		now = &plugins[round_now % plugin_count];
		void *h = load(now, &now_f);
		same += now_f == before;
		loads++;
		before = now_f;
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&end);
		dlclose(h);
	}
	now = 0;
	pthread_barrier_wait(&begin);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
}

// ---- each thread its own

static void *loader(void *number)
{
	int each = plugin_count / threads;
	struct plugin *mine = &plugins[(int)(size_t)number * each];
	struct blocks kept = {{0}, 0};
	function *before = 0;
	for (int i = 0; i < rounds; i++) {
		function *f;
		void *h = load(&mine[i % each], &f);
		__atomic_fetch_add(&same, f == before, __ATOMIC_RELAXED);
		__atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
		before = f;
		use(&mine[i % each], f, &kept, i);
		use(&mine[i % each], f, &kept, i);
		dlclose(h);
	}
	while (kept.n)
		free(kept.p[--kept.n]);
	return 0;
}

static void apart(void)
{
	pthread_t t[MOST];
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], 0, loader, (void *)(size_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
}

int main(int argc, char **argv)
{
	rounds = atoi(argv[2]);
	threads = atoi(argv[3]);
	for (int i = 4; i + 2 < argc; i += 3)
		plugins[plugin_count++] = (struct plugin){argv[i], argv[i + 1], atoi(argv[i + 2]), 0, 0};
	if (strcmp(argv[1], "shared") == 0)
		shared();
	else
		apart();
	for (int i = 0; i < plugin_count; i++)
		printf("%s %s %ld %ld\n", plugins[i].file, plugins[i].name, plugins[i].allocations, plugins[i].bytes);
	printf("same %ld of %ld\n", same, loads);
	return 0;
}
