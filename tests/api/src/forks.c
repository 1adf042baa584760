// SPDX-License-Identifier: Apache-2.0
//
// forks.c: a child that goes on in the regions of the thread that forked, but not in those that it had left, and a
// thread of it that does not.

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heaptap/heaptap.h>

static void *run(void *arg)
{
	free(malloc(9000)); // in no region
	return arg;
}

int main(void)
{
	const int64_t ids[] = {7};
	pthread_t thread;
	int status = 1;
	heaptap_region_begin("left", NULL, 0);
	heaptap_region_begin("left with it", NULL, 0);
	heaptap_region_end("left");
	heaptap_region_begin("outer", ids, 1);
	heaptap_region_begin("inner", NULL, 0);
	if (fork() == 0) {
		free(malloc(111));
		heaptap_region_end("inner");
		heaptap_region_begin("child", NULL, 0);
		if (pthread_create(&thread, NULL, run, NULL) == 0)
			pthread_join(thread, NULL);
		heaptap_region_end("child");
		_exit(0);
	}
	wait(&status);
	heaptap_region_end("outer");
	return status;
}
