// Allocates with pauses: more than the four million events that are folded together, so that the first ones are folded
// meanwhile.
#include <stdlib.h>
#include <time.h>

static void *volatile hold;

__attribute__((noinline)) static void work(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(16 + i % 100);
		if (i % 5000 == 0)
			hold = p;
		else
			free(p);
	}
}

int main(void)
{
	for (int i = 0; i < 160; i++) {
		work(20000);
		nanosleep(&(struct timespec){0, 10000000}, 0);
	}
	return 0;
}
