// SPDX-License-Identifier: Apache-2.0
//
// w.c: synthetic workloads that know their own numbers. Usage: w MODE N [WARM-UP]
//
//   w1    depth 10, one stack, N pairs of malloc and free over a window of 8 blocks of 16 to 512 bytes
//   w1d   the same at depth 60; w1d500 at depth 500
//   w1t2  w1 in two threads, N pairs each; w1t4, w1t8: in four, in eight
//   w2    depth 60, 64 leaf functions, the 5 frames at the top vary from pair to pair
//   w3    2 threads allocate N/2 blocks each at depth 10, 2 other threads free them
//   many  N threads, one after the other, of 10 pairs each
//
// One line of JSON on stdout: CPU and wall time of the timed part, and what must be found of the whole process
// below work() (or, in threads of their own, below thread_main()). The window's last blocks are never freed. Only the
// workload allocates: no stdio.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NI __attribute__((noinline, noclone))
#define SIZES 4096
#define WINDOW 8
#define MAX_THREADS 8

static uint16_t sizes[SIZES];
static uint32_t turns[SIZES];
static volatile int sink;

// Aligned: threads must not share a cache line.
struct window {
	void *block[WINDOW];
	long n; // pairs so far: an index into sizes
} __attribute__((aligned(128)));

// What a source of allocations knows about its own allocations.
struct truth {
	uint64_t allocations, deallocations, bytes, leaked_blocks, leaked_bytes, peak_blocks, peak_bytes;
};

static struct window window;
static struct truth truth;

static uint64_t clock_ns(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t random_state = 12345;

static uint32_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

// pair is the unit that all rates refer to: the block that leaves the window is freed, a new one comes in.
static inline __attribute__((always_inline)) void pair(struct window *w, long i, unsigned extra)
{
	void **slot = &w->block[i & (WINDOW - 1)];
	free(*slot);
	char *p = malloc(sizes[i & (SIZES - 1)] + extra);
	*(volatile char *)p = 1;
	*slot = p;
	__asm__ volatile("" ::: "memory");
}

// Replays what a loop of pairs does, without allocating. extra(i) is what the leaf adds to the size.
static void replay(struct truth *t, long from, long to, unsigned (*extra)(long))
{
	uint64_t live[WINDOW] = {0}, live_bytes = 0, live_blocks = 0;
	for (long i = from; i < to; i++) {
		uint64_t *slot = &live[i & (WINDOW - 1)];
		if (i - from >= WINDOW) {
			t->deallocations++;
			live_bytes -= *slot;
			live_blocks--;
		}
		*slot = sizes[i & (SIZES - 1)] + (extra ? extra(i) : 0);
		t->allocations++;
		t->bytes += *slot;
		live_bytes += *slot;
		live_blocks++;
		if (live_bytes > t->peak_bytes) {
			t->peak_bytes = live_bytes;
			t->peak_blocks = live_blocks;
		}
	}
	t->leaked_bytes += live_bytes;
	t->leaked_blocks += live_blocks;
}

// ---------------------------------------------------------------------------------------------------------------------
// w1, w1d, w1t

NI static void w1_loop(struct window *w, long n)
{
	long end = w->n + n;
	for (long i = w->n; i < end; i++)
		pair(w, i, 0);
	w->n = end;
}

NI static void descend(int depth, struct window *w, long n)
{
	volatile char frame[48];
	frame[0] = (char)depth;
	if (depth == 0)
		w1_loop(w, n);
	else
		descend(depth - 1, w, n);
	sink += frame[0];
}

// ---------------------------------------------------------------------------------------------------------------------
// w2: descend60 > loop > 4 levels of 4 functions > 64 leaves

typedef void (*step)(struct window *, long, uint32_t);

#define LEAF(n) \
	NI static void leaf_##n(struct window *w, long i, uint32_t r) \
	{ \
		volatile char frame[16 + 8 * (n % 7)]; \
		frame[0] = (char)r; \
		pair(w, i, n); \
		sink += frame[0]; \
	}
#define LEAVES_8(n) \
	LEAF(n##0) \
	LEAF(n##1) \
	LEAF(n##2) \
	LEAF(n##3) \
	LEAF(n##4) \
	LEAF(n##5) \
	LEAF(n##6) \
	LEAF(n##7)
#define NAMES_8(n) \
	leaf_##n##0, leaf_##n##1, leaf_##n##2, leaf_##n##3, leaf_##n##4, leaf_##n##5, leaf_##n##6, leaf_##n##7
#define ADDS_8(n) n##0, n##1, n##2, n##3, n##4, n##5, n##6, n##7
LEAVES_8(1)
LEAVES_8(2)
LEAVES_8(3)
LEAVES_8(4)
LEAVES_8(5)
LEAVES_8(6)
LEAVES_8(7)
LEAVES_8(8)
static const step leaves[64] = {NAMES_8(1), NAMES_8(2), NAMES_8(3), NAMES_8(4),
				NAMES_8(5), NAMES_8(6), NAMES_8(7), NAMES_8(8)};
static const uint8_t leaf_adds[64] = {ADDS_8(1), ADDS_8(2), ADDS_8(3), ADDS_8(4),
				      ADDS_8(5), ADDS_8(6), ADDS_8(7), ADDS_8(8)};

#define BRANCH(level, n, below, mask) \
	NI static void branch_##level##n(struct window *w, long i, uint32_t r) \
	{ \
		volatile char frame[24 + 16 * n]; \
		frame[0] = n; \
		below[r & mask](w, i, r >> 2); \
		sink += frame[0]; \
	}
#define LEVEL(level, below, mask) \
	BRANCH(level, 0, below, mask) \
	BRANCH(level, 1, below, mask) \
	BRANCH(level, 2, below, mask) \
	BRANCH(level, 3, below, mask) \
	static const step level_##level[4] = {branch_##level##0, branch_##level##1, branch_##level##2, \
					      branch_##level##3};
LEVEL(4, leaves, 63)
LEVEL(3, level_4, 3)
LEVEL(2, level_3, 3)
LEVEL(1, level_2, 3)

static uint32_t turn(long i)
{
	return turns[i & (SIZES - 1)];
}

static unsigned w2_extra(long i)
{
	return leaf_adds[turn(i) >> 8 & 63]; // the four levels have used two bits each
}

NI static void w2_loop(struct window *w, long n)
{
	long end = w->n + n;
	for (long i = w->n; i < end; i++)
		level_1[turn(i) & 3](w, i, turn(i) >> 2);
	w->n = end;
}

NI static void descend_w2(int depth, struct window *w, long n)
{
	volatile char frame[64];
	frame[0] = (char)depth;
	if (depth == 0)
		w2_loop(w, n);
	else
		descend_w2(depth - 1, w, n);
	sink += frame[0];
}

// ---------------------------------------------------------------------------------------------------------------------
// w3: threads hand over batches, with a mutex and two condition variables, so that none spins

#define BATCH 256
#define BATCHES 8

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full;
	long head, tail; // batches
	int done;
	void *blocks[BATCHES][BATCH];
	int fill[BATCHES];
	long n; // blocks still to come
	long base; // index of the first one
};

static struct queue queues[2];

NI static void produce(struct queue *q, int depth)
{
	volatile char frame[32];
	frame[0] = (char)depth;
	if (depth > 0) {
		produce(q, depth - 1);
		sink += frame[0];
		return;
	}
	for (long i = 0; i < q->n;) {
		pthread_mutex_lock(&q->lock);
		while (q->head - q->tail >= BATCHES)
			pthread_cond_wait(&q->not_full, &q->lock);
		pthread_mutex_unlock(&q->lock);
		long b = q->head % BATCHES;
		int k = 0;
		for (; k < BATCH && i < q->n; k++, i++) {
			char *p = malloc(sizes[(q->base + i) & (SIZES - 1)]);
			*(volatile char *)p = 1;
			q->blocks[b][k] = p;
		}
		q->fill[b] = k;
		pthread_mutex_lock(&q->lock);
		q->head++;
		pthread_cond_signal(&q->not_empty);
		pthread_mutex_unlock(&q->lock);
	}
	pthread_mutex_lock(&q->lock);
	q->done = 1;
	pthread_cond_signal(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

NI static void consume(struct queue *q)
{
	for (;;) {
		pthread_mutex_lock(&q->lock);
		while (q->head == q->tail && !q->done)
			pthread_cond_wait(&q->not_empty, &q->lock);
		int end = q->head == q->tail;
		pthread_mutex_unlock(&q->lock);
		if (end)
			return;
		long b = q->tail % BATCHES;
		for (int k = 0; k < q->fill[b]; k++)
			free(q->blocks[b][k]);
		pthread_mutex_lock(&q->lock);
		q->tail++;
		pthread_cond_signal(&q->not_full);
		pthread_mutex_unlock(&q->lock);
	}
}

// ---------------------------------------------------------------------------------------------------------------------
// Threads

struct job {
	int kind; // 0: pairs, 1: produce, 2: consume
	struct queue *queue;
	struct window *window;
	long n;
};

NI static void *thread_main(void *arg)
{
	struct job *j = arg;
	if (j->kind == 0)
		descend(7, j->window, j->n);
	else if (j->kind == 1)
		produce(j->queue, 8);
	else
		consume(j->queue);
	sink++;
	return NULL;
}

static void start(pthread_t *t, struct job *j)
{
	if (pthread_create(t, NULL, thread_main, j) != 0)
		_exit(3);
}

static struct window windows[MAX_THREADS];

static void in_threads(int threads, long n)
{
	pthread_t t[MAX_THREADS];
	struct job j[MAX_THREADS];
	for (int i = 0; i < threads; i++) {
		j[i] = (struct job){0, NULL, &windows[i], n};
		start(&t[i], &j[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static void producers(long n)
{
	pthread_t t[4];
	struct job j[4];
	for (int i = 0; i < 2; i++) {
		struct queue *q = &queues[i];
		long base = q->base + q->n;
		memset(q, 0, sizeof *q);
		pthread_mutex_init(&q->lock, NULL);
		pthread_cond_init(&q->not_empty, NULL);
		pthread_cond_init(&q->not_full, NULL);
		q->base = base;
		q->n = n / 2;
		j[i] = (struct job){1, q, NULL, 0};
		j[2 + i] = (struct job){2, q, NULL, 0};
	}
	for (int i = 0; i < 4; i++)
		start(&t[i], &j[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	truth.allocations += (uint64_t)(n / 2 * 2);
	truth.deallocations += (uint64_t)(n / 2 * 2);
	for (int k = 0; k < 2; k++)
		for (long i = 0; i < n / 2; i++)
			truth.bytes += sizes[(queues[k].base + i) & (SIZES - 1)];
}

static void many_threads(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_t t;
		struct window w = {{0}, 0};
		struct job j = {0, NULL, &w, 10};
		start(&t, &j);
		pthread_join(t, NULL);
		replay(&truth, 0, 10, NULL);
	}
}

static const char *mode;

// The number of threads of the modes w1tN; 0: another mode.
static int w1_threads(void)
{
	int n = !strncmp(mode, "w1t", 3) ? atoi(mode + 3) : 0;
	return n > 0 && n <= MAX_THREADS ? n : 0;
}

NI static void work(long n)
{
	if (!strcmp(mode, "w1"))
		descend(6, &window, n);
	else if (!strcmp(mode, "w1d"))
		descend(56, &window, n);
	else if (!strcmp(mode, "w1d500"))
		descend(496, &window, n);
	else if (!strcmp(mode, "w2"))
		descend_w2(51, &window, n);
	else if (w1_threads())
		in_threads(w1_threads(), n);
	else if (!strcmp(mode, "w3"))
		producers(n);
	else if (!strcmp(mode, "many"))
		many_threads(n);
	else
		_exit(2);
	sink++;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	mode = argv[1];
	long n = atol(argv[2]), warm = argc > 3 ? atol(argv[3]) : 0;
	for (int i = 0; i < SIZES; i++) {
		sizes[i] = (uint16_t)(16 + random_next() % 497);
		turns[i] = random_next() >> 4;
	}
	if (warm)
		work(warm);
	uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	work(n);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = clock_ns(CLOCK_MONOTONIC) - wall;

	int threads = w1_threads();
	for (int i = 0; i < threads; i++)
		replay(&truth, 0, windows[i].n, NULL);
	if (window.n)
		replay(&truth, 0, window.n, !strcmp(mode, "w2") ? w2_extra : NULL);
	long pairs = threads ? threads * n : !strcmp(mode, "many") ? 10 * n : n;
	char line[1024];
	int k = snprintf(
		line, sizeof line,
		"{\"pairs\":%ld,\"cpu_ns\":%lu,\"wall_ns\":%lu,\"allocations\":%lu,\"deallocations\":%lu,"
		"\"bytes\":%lu,\"leaked_blocks\":%lu,\"leaked_bytes\":%lu,\"peak_blocks\":%lu,\"peak_bytes\":%lu}\n",
		pairs, cpu, wall, truth.allocations, truth.deallocations, truth.bytes, truth.leaked_blocks,
		truth.leaked_bytes, truth.peak_blocks, truth.peak_bytes);
	return write(1, line, (size_t)k) == k ? 0 : 4;
}
