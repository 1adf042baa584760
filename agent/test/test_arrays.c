// SPDX-License-Identifier: Apache-2.0
//
// test_arrays.c: threads extend the spool's arrays at the same time, while each of them is often interrupted between
// two system calls. Whatever address an array gets, each element that was reached holds what was written to it.
//
//   test_arrays ROUNDS

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/base/sys.h"

// Lets the other threads go on, now and then for long.
static void stop(void)
{
	static __thread u32 random;
	random = random * 1103515245 + (u32)(u64)&random + 12345;
	for (u32 i = (random >> 16) % 4 ? 0 : (random >> 20) % 64; i; i--)
		sched_yield();
}

#define ht_call(...) (stop(), ht_call(__VA_ARGS__))
#include "../src/spool/spool.c"
#undef ht_call

u32 ht_filtered;
__thread struct ht_local ht_local __attribute__((tls_model("initial-exec")));

long ht_call_filtered(long n, long a, long b, long c, long d, long e, long f)
{
	(void)n, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	abort();
}

long ht_admit(const char *run, char name[HT_SPOOL_NAME])
{
	(void)run, (void)name;
	abort();
}

#define THREADS 8
#define CHUNKS 600 // 37 MiB: more than 20 extensions

static pthread_barrier_t begin;
static u64 failed;

// Thread t has the elements t, t + THREADS and so on.
static void *extend(void *arg)
{
	u64 t = (u64)arg;
	pthread_barrier_wait(&begin);
	for (u64 i = t; i < CHUNKS; i += THREADS) {
		if (!ht_array_has(HT_SEG_CHUNKS, i) || !ht_array_has(HT_SEG_PCS, i * 256 + 255)) {
			__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
			continue;
		}
		ht_store((u64 *)(ht_chunks + i * HT_CHUNK_SIZE), i + 1);
		ht_store(&ht_pcs[i * 256 + 255].pc, i + 1);
		if (i == CHUNKS / 2)
			ht_spool_open_ahead(1);
		for (u64 j = t; j <= i; j += THREADS)
			if (ht_load((u64 *)(ht_chunks + j * HT_CHUNK_SIZE)) != j + 1 ||
			    ht_load(&ht_pcs[j * 256 + 255].pc) != j + 1)
				__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

// `blocked`: something follows each array, so that none can become longer where it is.
static void round_of(int blocked)
{
	pthread_t threads[THREADS];
	long fd = ht_sys2(__NR_memfd_create, "spool", 0);
	if (fd < 0 || map_spool(fd) < 0)
		abort();
	ht_sys1(__NR_close, fd);
	fill_header(1, 0);
	for (int type = 2; type < HT_SEG_TYPES; type++) {
		if (ht_array_reach(type, 0) < 0)
			abort();
		u8 *end = far[type] + arrays[type].first;
		if (blocked && far[type] &&
		    mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != end)
			abort();
	}
	pthread_barrier_init(&begin, 0, THREADS);
	for (u64 t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], 0, extend, (void *)t))
			abort();
	for (u32 t = 0; t < THREADS; t++)
		pthread_join(threads[t], 0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < rounds && !failed; i++) {
		int status = 0, child = fork(); // its mappings go with it
		if (child == 0) {
			round_of(i % 2);
			_exit(failed != 0);
		}
		failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
	}
	printf("arrays        %d rounds of %d threads: %s\n", rounds, THREADS, failed ? "FAILED" : "ok");
	return failed != 0;
}
