// SPDX-License-Identifier: Apache-2.0
//
// slow.c: allocates for half a second, with pauses, so that old events are folded meanwhile.
#include <stdlib.h>
#include <time.h>

static void *volatile hold;

__attribute__((noinline)) static void work(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(16 + i % 100);
		if (i % 50 == 0)
			hold = p;
		else
			free(p);
	}
}

int main(void)
{
	for (int i = 0; i < 50; i++) {
		work(1000);
		nanosleep(&(struct timespec){0, 10000000}, 0);
	}
	return 0;
}
