// SPDX-License-Identifier: Apache-2.0
//
// cpu.c: runs a command and appends what it alone has used to a file: its CPU time in ns, user and system, its wall
// time, its largest resident set in KiB, and when it ended, by CLOCK_MONOTONIC.
// Usage: cpu FILE [NAME=VALUE...] -- COMMAND [ARGS...]. The variables are set for the command only.
//
// Whatever starts this program (a profiler's launcher, with helpers of its own) does not count. When it is killed, so
// is the command.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	int at = 2;
	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	if (at + 1 >= argc)
		return 125;
	uint64_t start = now();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 2; i < at; i++)
			putenv(argv[i]);
		execvp(argv[at + 1], argv + at + 1);
		_exit(127);
	}
	int status = 0;
	struct rusage use;
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid)
		return 125;
	uint64_t end = now();
	char line[256];
	int n = snprintf(line, sizeof line, "%lu %lu %lu %ld %lu\n", ns(use.ru_utime), ns(use.ru_stime), end - start,
			 use.ru_maxrss, end);
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
