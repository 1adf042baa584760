// SPDX-License-Identifier: Apache-2.0
//
// limits.c: executes a program under a limit. Usage: limits as|fsize|nofile LIMIT PROGRAM ARGS...
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 9;
	int what = !strcmp(argv[1], "as") ? RLIMIT_AS : !strcmp(argv[1], "fsize") ? RLIMIT_FSIZE : RLIMIT_NOFILE;
	rlim_t limit = strtoul(argv[2], NULL, 10);
	// Else the C library takes 64 MiB for each thread where it finds that much, and whether a later thread then has
	// room for its stack is a race.
	if (what == RLIMIT_AS && setenv("MALLOC_ARENA_MAX", "1", 1))
		return 9;
	if (setrlimit(what, &(struct rlimit){limit, limit}))
		return 9;
	execv(argv[3], argv + 3);
	return 9;
}
