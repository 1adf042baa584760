// Pools: what the program says of them, and what it comes to, in numbers that pools_test.go has, too.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heaptap/heaptap.h>

#define CHUNK 100000

// Moves: 10 blocks of 100 bytes; every other one is freed; the other 5 move down and grow to 150; 2 of these are freed.
static void moves(void)
{
	heaptap_pool_id pool = heaptap_pool_create("moves");
	char *chunk = malloc(CHUNK);
	heaptap_pool_backing(pool, chunk, CHUNK);
	heaptap_pool_backing(pool, chunk, CHUNK); // said twice
	for (int i = 0; i < 10; i++)
		heaptap_pool_alloc(pool, chunk + 100 * i, 100);
	for (int i = 0; i < 10; i += 2)
		heaptap_pool_free(pool, chunk + 100 * i);
	for (int i = 0; i < 5; i++)
		heaptap_pool_move(pool, chunk + 200 * i + 100, chunk + 10000 + 150 * i, 150);
	heaptap_pool_move(pool, chunk + 10000, chunk + 10000, 140); // in place
	heaptap_pool_move(pool, chunk + 10000, NULL, 1 << 20); // no room: it lives on
	heaptap_pool_alloc(pool, NULL, 1 << 20); // no room
	heaptap_pool_free(pool, chunk + 10000);
	heaptap_pool_free(pool, chunk + 10150);
	heaptap_pool_free(pool, chunk + 10150); // twice: unmatched
	heaptap_pool_free(pool, chunk + 77); // never given out: unmatched
	heaptap_pool_free(pool, NULL);
	// 3 blocks of 150 bytes are left, and the chunk is never freed.
}

// A pool in a block of another one, whose first block lies at the very address of all. Their memory is freed first.
static void nested(void)
{
	heaptap_pool_id outer = heaptap_pool_create("outer"), inner = heaptap_pool_create("inner");
	char *chunk = malloc(CHUNK);
	heaptap_pool_backing(outer, chunk, CHUNK);
	heaptap_pool_alloc(outer, chunk, 5000); // becomes inner's
	heaptap_pool_alloc(outer, chunk + 5000, 300);
	heaptap_pool_backing(inner, chunk, 5000);
	for (int i = 0; i < 4; i++)
		heaptap_pool_alloc(inner, chunk + 1000 * i, 1000);
	heaptap_pool_free(inner, chunk); // the inner one's block, and not its memory
	heaptap_pool_free(outer, chunk); // its memory: 3 blocks end
	heaptap_pool_alloc(outer, chunk, 64);
	free(chunk); // 300 and 64 bytes end
	heaptap_pool_free(outer, chunk + 5000); // it has ended: unmatched
	heaptap_pool_destroy(inner);
	heaptap_pool_destroy(outer);
}

// Clearing, destroying, memory that is not of the heap, and memory that is reallocated.
static void cleared(void)
{
	heaptap_pool_id pool = heaptap_pool_create("cleared");
	char *mapped = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		exit(3);
	heaptap_pool_backing(pool, mapped, CHUNK);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++)
			heaptap_pool_alloc(pool, mapped + 10 * i, 10);
		heaptap_pool_clear(pool);
	}
	char *chunk = malloc(CHUNK);
	heaptap_pool_backing(pool, chunk, CHUNK);
	heaptap_pool_alloc(pool, chunk + 8, 2000);
	heaptap_pool_alloc(pool, mapped, 30);
	chunk = realloc(chunk, 2 * CHUNK); // 2000 bytes end
	heaptap_pool_destroy(pool); // 30 bytes end
	free(chunk);
	munmap(mapped, CHUNK);
}

// What is no pool.
static void nothing(void)
{
	static const heaptap_pool_id none[] = {0, 1, 1ull << 32, ~0ull, 0x7fffffff00000001};
	char *p = malloc(32);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		heaptap_pool_backing(none[i], p, 32);
		heaptap_pool_alloc(none[i], p, 8);
		heaptap_pool_move(none[i], p, p + 8, 8);
		heaptap_pool_free(none[i], p + 8);
		heaptap_pool_clear(none[i]);
		heaptap_pool_destroy(none[i]);
	}
	free(p);
}

// A child goes on with its parent's pools: what it did not give out itself is inherited.
static void forks(void)
{
	heaptap_pool_id pool = heaptap_pool_create("forks");
	static char memory[1000];
	heaptap_pool_alloc(pool, memory, 10);
	pid_t child = fork();
	if (child == 0) {
		heaptap_pool_alloc(pool, memory + 100, 20);
		heaptap_pool_free(pool, memory); // inherited
		_exit(0);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		exit(4);
	heaptap_pool_free(pool, memory);
}

// Four threads with an arena each, over and over, in memory that is counted nowhere: 10 blocks of 50 bytes, of which
// one is freed by itself.
static void *arenas(void *unused)
{
	for (int round = 0; round < 1000; round++) {
		heaptap_pool_id pool = heaptap_pool_create("arenas"), before = heaptap_pool_serve(pool);
		char *chunk = malloc(1000);
		heaptap_pool_serve(before);
		for (int i = 0; i < 10; i++)
			heaptap_pool_alloc(pool, chunk + 50 * i, 50);
		heaptap_pool_free(pool, chunk + 50);
		if (round % 2)
			heaptap_pool_destroy(pool);
		free(chunk);
		if (round % 2 == 0)
			heaptap_pool_destroy(pool);
	}
	return unused;
}

static void threads(void)
{
	pthread_t list[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&list[i], NULL, arenas, NULL))
			exit(6);
	for (int i = 0; i < 4; i++)
		pthread_join(list[i], NULL);
}

// Two pools and one in the one, then so many other events, in the middle of which the recorder is killed, that
// checkpoints lie in between. Then all ends: by clearing, by freeing the memory, and by giving a block back that serves
// a pool.
static void outlast(void)
{
	heaptap_pool_id freed = heaptap_pool_create("freed"), cleared = heaptap_pool_create("cleared");
	heaptap_pool_id inner = heaptap_pool_create("inner");
	char *first = malloc(CHUNK), *second = malloc(CHUNK);
	heaptap_pool_backing(freed, first, CHUNK);
	heaptap_pool_backing(cleared, second, CHUNK);
	for (int i = 0; i < 1000; i++) {
		heaptap_pool_alloc(freed, first + 50 * i, 50);
		heaptap_pool_alloc(cleared, second + 100 * i, 100);
	}
	heaptap_pool_alloc(freed, first + 60000, 1000);
	heaptap_pool_backing(inner, first + 60000, 1000);
	for (int i = 0; i < 10; i++)
		heaptap_pool_alloc(inner, first + 60000 + 100 * i, 100);
	for (int i = 0; i < 3000000; i++) {
		free(malloc(10 + i % 100));
		if (i == 1500000 && write(1, "half\n", 5) == 5)
			sleep(1);
	}
	heaptap_pool_free(freed, first + 60000);
	heaptap_pool_clear(cleared);
	free(first);
	free(second);
}

// Memory that backs a pool and is freed before anything else was recorded.
static void freed(void)
{
	void *volatile chunk = malloc(CHUNK);
	heaptap_pool_backing(heaptap_pool_create("freed"), chunk, CHUNK);
	free(chunk);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "freed") == 0) {
		freed();
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "outlast") == 0) {
		outlast();
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		threads();
		return 0;
	}
	moves();
	nested();
	cleared();
	nothing();
	forks();
	if ((heaptap_pool_create("x") != 0) != heaptap_loaded())
		return 5;
	return 0;
}
