// A thread-local variable of 128 MiB: memory of the loader, which clears it for both threads, so that 256 MiB are
// resident, and in no number of allocations. What the loader allocates to manage it is the runtime's, and no leak.
//
//= churn: allocations 1000, bytes 64000, deallocations 999, temporary 999, leaked 64, leaked-blocks 1, own-peak 64
//= main: allocations 1, bytes 200, deallocations 1, leaked 0
#include <pthread.h>
#include <stdlib.h>

#include "corpus.h"
#include "resident.h"

#define SIZE (128 << 20)
static __thread char big[SIZE];

static void churn(void)
{
	void *p = 0;
	for (int i = 0; i < 1000; i++) {
		free(p);
		p = used(malloc(64));
	}
}

static void *worker(void *argument)
{
	used(big);
	churn();
	tell_resident();
	return argument;
}

// The thread is created outside of main, so that main's stacks have none of what libc allocates for it.
static pthread_t begin(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, SIZE + (8 << 20)); // the variable lies in it
	if (pthread_create(&thread, &attributes, worker, 0) != 0)
		abort();
	return thread;
}

static pthread_t thread;

__attribute__((constructor)) static void start(void)
{
	thread = begin();
}

int main(void)
{
	free(used(malloc(200)));
	pthread_join(thread, 0);
	return 0;
}
