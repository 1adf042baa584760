// Threads that allocate, free and exit: turns THREADS AT_ONCE LINGER BLOCKS. AT_ONCE threads live at a time, one after
// another is replaced; each allocates BLOCKS blocks, and lives LINGER microseconds after its last call. A line for each
// says when its function returned and when it had been joined, in ns of CLOCK_MONOTONIC; the last line by how many
// bytes the resident set was larger at its peak than at the start.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BLOCKS 12000
#define MOST 1000

static long long returned[MOST], joined[MOST];
static unsigned linger;
static int blocks_each;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void *work(void *number)
{
	char *blocks[blocks_each];
	unsigned seed = (unsigned)(size_t)number * 7919 + 1;
	for (int i = 0; i < blocks_each; i++) {
		seed = seed * 1103515245 + 12345;
		size_t size = 16 + (seed >> 16) % 1000;
		blocks[i] = malloc(size);
		memset(blocks[i], 1, size);
	}
	for (int i = 0; i < blocks_each; i++)
		free(blocks[i]);
	if (linger)
		usleep(linger);
	returned[(size_t)number] = now();
	return 0;
}

static long status_of(const char *name)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	if (!f)
		return 0;
	setvbuf(f, 0, _IONBF, 0);
	while (fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = atol(line + strlen(name));
	fclose(f);
	return kib << 10;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 200, at_once = argc > 2 ? atoi(argv[2]) : 1;
	static pthread_t ids[MOST];
	long before = status_of("VmRSS:");
	linger = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	blocks_each = argc > 4 ? atoi(argv[4]) : 1500;
	if (blocks_each < 1 || blocks_each > MOST_BLOCKS || n < 1 || n > MOST || at_once < 1 || at_once > n)
		return 2;
	for (int i = 0; i < n + at_once; i++) {
		if (i >= at_once) {
			pthread_join(ids[i - at_once], 0);
			joined[i - at_once] = now();
		}
		if (i < n && pthread_create(&ids[i], 0, work, (void *)(size_t)i) != 0)
			return 1;
	}
	for (int i = 0; i < n; i++)
		printf("%lld %lld\n", returned[i], joined[i]);
	printf("%ld\n", status_of("VmHWM:") - before);
	return 0;
}
