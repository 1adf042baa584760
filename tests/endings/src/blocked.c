// SPDX-License-Identifier: Apache-2.0
//
// blocked.c: maps a page of its own behind each of the spool's mappings, so that none can become longer where it is;
// then threads and forked children make them grow. Usage: blocked THREADS. Ends with 8 if there is no spool.
#include <pthread.h>
#include <sys/wait.h>

#include "step.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static void *grows(void *arg)
{
	steps(20000);
	left(10);
	return arg;
}

static int block(void)
{
	static char maps[1 << 20], *line;
	int fd = open("/proc/self/maps", O_RDONLY), blocked = 0;
	size_t n = 0;
	for (ssize_t r; n < sizeof(maps) - 1 && (r = read(fd, maps + n, sizeof(maps) - 1 - n)) > 0;)
		n += (size_t)r;
	close(fd);
	for (line = strtok(maps, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long start, end;
		if (!strstr(line, ".spool") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		blocked += mmap((void *)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
				0) == (void *)end;
	}
	return blocked;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int n = argc > 1 ? atoi(argv[1]) : 0, status;
	if (n < 1 || n > 64)
		return 9;
	if (block() < 5)
		return 8;
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, grows, NULL))
			return 9;
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			step_child();
			grows(NULL);
			_exit(7);
		}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	while (wait(&status) > 0)
		if (WEXITSTATUS(status) != 7)
			return 9;
	return 7;
}
