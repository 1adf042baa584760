// SPDX-License-Identifier: Apache-2.0
//
// excluded.c: what is paused and stopped is not recorded; blocks that were recorded go on having their deallocations
// recorded. Recorded allocations have 1000 + n bytes, others 2000 + n.

#include <pthread.h>
#include <stdlib.h>

#include <heaptap/heaptap.h>

#include "check.h"

static pthread_barrier_t barrier;

static void *in_another_thread(void *nothing)
{
	pthread_barrier_wait(&barrier);
	free(malloc(1001)); // paused is the other one
	pthread_barrier_wait(&barrier);
	return nothing;
}

int main(void)
{
	pthread_t thread;
	void *before, *amid, *moved, *excluded;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, in_another_thread, NULL);

	before = malloc(1002);
	moved = malloc(1003);
	heaptap_pause();
	excluded = malloc(2001);
	free(before);
	moved = realloc(moved, 2002); // is gone, as far as the recording knows
	free(calloc(1, 2003));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	heaptap_resume();
	free(moved);
	free(excluded);
	pthread_join(thread, NULL);

	before = malloc(1004);
	amid = malloc(1005);
	heaptap_stop();
	free(before);
	for (int i = 0; i < 1000; i++)
		free(malloc(2004));
	excluded = malloc(2005);
	amid = realloc(amid, 2006);
	heaptap_start();
	free(excluded);
	free(amid);
	free(malloc(1006));
	heaptap_stop();
	excluded = malloc(2007);
	heaptap_start();
	excluded = realloc(excluded, 1007);
	free(excluded);
	return failures;
}
