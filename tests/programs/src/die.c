// SPDX-License-Identifier: Apache-2.0
//
// die.c: allocates N live blocks of 100 bytes in site() and ends without any cleanup.
// Usage: die HOW N, HOW being exit, _exit, abort, kill or segv
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile hold;

__attribute__((noinline, noclone)) static void site(long n)
{
	for (long i = 0; i < n; i++)
		hold = malloc(100);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	site(atol(argv[2]));
	if (!strcmp(argv[1], "_exit"))
		_exit(7);
	if (!strcmp(argv[1], "abort"))
		abort();
	if (!strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[1], "segv"))
		*(volatile int *)(size_t)(argc - 3) = 1;
	return 7;
}
