// SPDX-License-Identifier: Apache-2.0
//
// rings LOG OPS PACE: eight threads hand blocks to each other through mailboxes, so that nearly every block is freed or
// reallocated by another thread than the one that made it, and addresses are given out again at once.
//
// Every block has a number, which its call stack and its size spell out: the two functions it was allocated through
// stand for six bits each, the size for seven. The threads write down in LOG, in their own order, which numbers they
// allocate and which they end: so a recording can be compared block by block.
//
// OPS operations a thread, or until somebody sets `stop` in LOG; a millisecond's sleep after each PACE of them (0:
// none).

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8
#define BOXES 64
#define NUMBER_BITS 19

// What is written down; order_test.go reads it.
enum { ALLOCATED = 1, FREED = 2, MOVED = 4 /* with either: half of a realloc */, FAILED = 8 };

struct entry {
	uint32_t what;
	uint32_t block; // thread << NUMBER_BITS | number
	uint64_t address;
};

struct page {
	_Atomic uint32_t stop, started;
	uint32_t room; // entries per thread
	uint32_t reserved;
	uint32_t tid[THREADS];
	_Atomic uint32_t entries[THREADS];
};

struct block {
	uint32_t id;
};

static struct page *page;
static struct entry *entries;
static _Atomic(struct block *) box[BOXES];
static uint32_t operations, pace;

struct thread {
	uint32_t index, number;
	uint64_t random;
	struct entry *log;
};

static void note(struct thread *t, uint32_t what, uint32_t block, void *address)
{
	uint32_t n = page->entries[t->index];
	t->log[n] = (struct entry){what, block, (uint64_t)address};
	page->entries[t->index] = n + 1;
}

static uint32_t random_below(struct thread *t, uint32_t n)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)(t->random >> 20) % n;
}

// ---------------------------------------------------------------------------------------------------------------------
// Functions that stand for six bits each: low0 to low63 and high0 to high63

#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
#define DEFINE_LOW(n) \
	__attribute__((noinline, noclone)) static void *low##n(void *old, size_t size) \
	{ \
		void *p = old ? realloc(old, size) : malloc(size); \
		__asm__ volatile("# low" #n : "+r"(p)); \
		return p; \
	}
#define NAME_LOW(n) low##n,
ALL(DEFINE_LOW)
static void *(*const low[])(void *, size_t) = {ALL(NAME_LOW)};

#define DEFINE_HIGH(n) \
	__attribute__((noinline, noclone)) static void *high##n(uint32_t k, void *old, size_t size) \
	{ \
		void *p = low[k](old, size); \
		__asm__ volatile("# high" #n : "+r"(p)); \
		return p; \
	}
#define NAME_HIGH(n) high##n,
ALL(DEFINE_HIGH)
static void *(*const high[])(uint32_t, void *, size_t) = {ALL(NAME_HIGH)};

// A new block, or `old` in its new form.
static struct block *make(struct thread *t, struct block *old)
{
	uint32_t n = t->number++ & ((1u << NUMBER_BITS) - 1), was = old ? old->id : 0;
	struct block *b = high[n >> 13](n >> 7 & 63, old, 16 + 8 * (n & 127));
	if (!b)
		_exit(3);
	if (old)
		note(t, FREED | MOVED, was, old);
	b->id = t->index << NUMBER_BITS | n;
	note(t, old ? ALLOCATED | MOVED : ALLOCATED, b->id, b);
	return b;
}

static void end(struct thread *t, struct block *b)
{
	note(t, FREED, b->id, b);
	free(b);
}

static void put(struct thread *t, struct block *b)
{
	b = atomic_exchange(&box[random_below(t, BOXES)], b);
	if (b)
		end(t, b);
}

static void step(struct thread *t)
{
	struct block *b = atomic_exchange(&box[random_below(t, BOXES)], 0);
	if (!b)
		return put(t, make(t, 0));
	switch (random_below(t, 8)) {
	case 0:
	case 1:
	case 2: // the address is free for the others now, and for us
		end(t, b);
		return put(t, make(t, 0));
	case 3:
	case 4:
		return put(t, make(t, b));
	case 5:
		if (realloc(b, (size_t)1 << 62))
			_exit(4);
		note(t, FAILED, b->id, b);
		return put(t, b);
	case 6:
		end(t, make(t, 0));
		return put(t, b);
	default:
		return put(t, b);
	}
}

static void *work(void *argument)
{
	struct thread *t = argument;
	page->tid[t->index] = (uint32_t)syscall(SYS_gettid);
	page->started++;
	while (page->started < THREADS)
		usleep(100);
	for (uint32_t i = 0; i < operations && !page->stop; i++) {
		if (page->entries[t->index] + 4 > page->room || (t->number + 2) >> NUMBER_BITS)
			break;
		step(t);
		if (pace && i % pace == 0)
			usleep(1000);
	}
	return 0;
}

int main(int count, char **argv)
{
	static struct thread threads[THREADS];
	pthread_t ids[THREADS];
	if (count != 4)
		return 2;
	operations = (uint32_t)atoi(argv[2]);
	pace = (uint32_t)atoi(argv[3]);
	uint32_t room = 4 * operations + 16;
	size_t size = 4096 + (size_t)THREADS * room * sizeof(struct entry);
	int fd = open(argv[1], O_RDWR);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return 2;
	page = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 2;
	page->room = room;
	entries = (struct entry *)((char *)page + 4096);
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){
			.index = i, .random = 88172645463325252ull + i, .log = entries + (size_t)i * room};
		if (pthread_create(&ids[i], 0, work, &threads[i]))
			return 2;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(ids[i], 0);
	return 0;
}
