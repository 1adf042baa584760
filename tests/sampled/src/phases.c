// SPDX-License-Identifier: Apache-2.0
//
// Four threads allocate and free all the time. For each line "N" on stdin each of them makes N allocations in site()
// and keeps a quarter; at the end of stdin they free all else and end. What they did they count themselves, and print
// it: of site(), calls and blocks that were kept; of churn(), calls.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOTS 1000
#define THREADS 4

static void *slots[SLOTS]; // that all of them share
static int phase, wanted, done, over;
static unsigned long calls, kept, churned;

__attribute__((noinline)) static void site(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(48);
		if (i % 4)
			free(p);
	}
	__atomic_fetch_add(&calls, n, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&kept, (n + 3) / 4, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) static void churn(unsigned long *x, int n)
{
	for (int i = 0; i < n; i++) {
		*x = *x * 6364136223846793005ul + 1442695040888963407ul;
		void **slot = &slots[(*x >> 40) % SLOTS];
		free(__atomic_exchange_n(slot, malloc(100 + (*x >> 20) % 1000), __ATOMIC_SEQ_CST));
	}
	__atomic_fetch_add(&churned, n, __ATOMIC_SEQ_CST);
}

static void *thread(void *seed)
{
	unsigned long x = (unsigned long)seed;
	int seen = 0;
	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		churn(&x, 200);
		usleep(2000);
		int now = __atomic_load_n(&phase, __ATOMIC_SEQ_CST);
		if (now == seen)
			continue;
		seen = now;
		site(wanted);
		__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

int main(void)
{
	pthread_t threads[THREADS];
	static char line[100], out[1000]; // stdio allocates nothing
	setvbuf(stdin, 0, _IONBF, 0);
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, thread, (void *)(i + 1)))
			return 1;
	printf("%d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		wanted = atoi(line);
		__atomic_store_n(&done, 0, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&phase, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < THREADS)
			usleep(1000);
		printf("done\n");
	}
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
	printf("%lu %lu %lu\n", calls, kept, churned);
	return 0;
}
