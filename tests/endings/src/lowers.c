// SPDX-License-Identifier: Apache-2.0
//
// lowers.c: limits its own address space and goes on. Usage: lowers HOW MIB.
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "step.h"

static struct rlimit limit;
static volatile int over;

static void need(int ok)
{
	if (!ok)
		_exit(9);
}

// What the agent's arrays grow by: events, and more than 1,000 call stacks. What the program needs: 20 MiB.
static void grow(void)
{
	void *all[20];
	steps(5000);
	left(9);
	for (int i = 0; i < 20; i++)
		need((all[i] = step_alloc(1 << 20)) != NULL);
	for (int i = 0; i < 20; i++)
		step_free(all[i]);
}

static void *grows(void *arg)
{
	for (int i = 0; i < 2 || !over; i++) {
		steps(2000);
		left(8);
	}
	return arg;
}

int main(int argc, char **argv)
{
	need(argc == 3);
	const char *how = argv[1];
	int status, threads = !strcmp(how, "threads");
	pthread_t t[8];
	limit.rlim_cur = limit.rlim_max = strtoul(argv[2], NULL, 10) << 20;
	mallopt(M_ARENA_MAX, 1); // else threads take 64 MiB each, where they find that much

	for (int i = 0; threads && i < 8; i++)
		need(pthread_create(&t[i], NULL, grows, NULL) == 0);
	if (!strcmp(how, "vfork")) {
		pid_t child = vfork();
		if (child == 0) {
			if (setrlimit(RLIMIT_AS, &limit))
				_exit(9);
			execl("/proc/self/exe", argv[0], "setrlimit", argv[2], (char *)NULL);
			_exit(9);
		}
		grow();
		need(waitpid(child, &status, 0) == child);
		return WEXITSTATUS(status);
	}
	if (!strcmp(how, "prlimit"))
		need(syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL) == 0);
	else if (strcmp(how, "forks"))
		need(setrlimit(RLIMIT_AS, &limit) == 0);
	for (int i = 0; !strcmp(how, "forks") && i < 4; i++)
		if (fork() == 0) {
			step_child();
			need(setrlimit(RLIMIT_AS, &limit) == 0);
			grow();
			_exit(7);
		}
	grow();
	over = 1;
	for (int i = 0; threads && i < 8; i++)
		pthread_join(t[i], NULL);
	while (wait(&status) > 0)
		need(WEXITSTATUS(status) == 7);
	return 7;
}
