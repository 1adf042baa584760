// Programs whose allocations are spread over time in different ways, each with some 400,000 events. Usage: shapes NAME
//
//   threads  four threads, each with sizes and a pace of its own, two of which begin late
//   bursts   a steady background, and now and then ten thousand blocks at once, of another function
//   growing  a table that holds more and more, of which each round reads all
//   phases   four parts of the run that have nothing in common
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void *get(size_t size)
{
	void *volatile p = malloc(size);
	return p;
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static NOINLINE void small(uint32_t *state)
{
	free(get(16 + next(state) % 64));
}
static NOINLINE void medium(uint32_t *state)
{
	free(get(64 + next(state) % 512));
}
static NOINLINE void large(uint32_t *state)
{
	free(get(1024 + next(state) % 16384));
}

static NOINLINE void burst(int n)
{
	void **list = get((size_t)n * sizeof *list);
	for (int i = 0; i < n; i++)
		list[i] = get(48);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static NOINLINE void background(uint32_t *state, int n)
{
	for (int i = 0; i < n; i++) {
		small(state);
		if (i % 3 == 0)
			medium(state);
		if (i % 50 == 0)
			large(state);
	}
}

static void *worker(void *arg)
{
	uint32_t state = (uint32_t)(uintptr_t)arg;
	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < 100 + (int)state % 3 * 40; i++) {
			if ((uintptr_t)arg % 2)
				small(&state);
			else
				medium(&state);
		}
		if (round % 7 == 0)
			large(&state);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t list[4];
	uint32_t state = 9;
	for (uintptr_t i = 0; i < 4; i++) {
		if (i == 2)
			background(&state, 20000);
		pthread_create(&list[i], NULL, worker, (void *)(i + 1));
	}
	for (int i = 0; i < 4; i++)
		pthread_join(list[i], NULL);
}

static void bursts(void)
{
	uint32_t state = 7;
	for (int i = 0; i < 120; i++) {
		background(&state, 800);
		if (next(&state) % 10 == 0)
			burst(10000);
	}
}

static void growing(void)
{
	uint32_t state = 5;
	static void *held[2000];
	for (int n = 1; n <= 2000; n += 10) {
		for (int i = n - 1; i < n + 9 && i < 2000; i++)
			held[i] = get(24 + next(&state) % 200);
		for (int i = 0; i < n; i++)
			free(get(40 + (size_t)(i % 100)));
	}
	for (int i = 0; i < 2000; i++)
		free(held[i]);
}

static void phases(void)
{
	uint32_t state = 3;
	for (int i = 0; i < 60000; i++)
		small(&state);
	burst(40000);
	for (int i = 0; i < 40000; i++)
		medium(&state);
	for (int i = 0; i < 30000; i++)
		large(&state);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "threads"))
		threads();
	else if (!strcmp(argv[1], "bursts"))
		bursts();
	else if (!strcmp(argv[1], "growing"))
		growing();
	else if (!strcmp(argv[1], "phases"))
		phases();
	else
		return 2;
	return 0;
}
