// A program with regions, whose functions keep memory until its end, and a call stack that is deeper than a window.
#include <heaptap/heaptap.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *kept[6000];
static int count;

__attribute__((noinline)) static void keep_large(void)
{
	kept[count++] = memset(malloc(4000), 1, 4000);
}

__attribute__((noinline)) static void keep_small(void)
{
	kept[count++] = memset(malloc(200), 1, 200);
}

__attribute__((noinline)) static int deep(int levels)
{
	if (levels == 0) {
		keep_large();
		return 1;
	}
	return deep(levels - 1) + 1;
}

int main(void)
{
	for (int round = 0; round < 20; round++) {
		unsigned long number = round;
		heaptap_region_begin("round", &number, 1);
		for (int i = 0; i < 100; i++) {
			keep_small();
			keep_large();
			kept[count] = realloc(malloc(10 + i), 100 + 10 * i);
			free(kept[count]);
		}
		heaptap_region_end("round");
		nanosleep(&(struct timespec){0, 5000000}, 0);
	}
	return deep(60) == 0;
}
