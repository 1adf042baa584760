// SPDX-License-Identifier: Apache-2.0
//
// forks.c: children, made in every way there is. Each does N steps of its own and frees blocks of its parent's. Usage:
// forks HOW CHILDREN N
#include "step.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *inherited[100];
static volatile int stop;
static long count;

static void child(void)
{
	step_child();
	for (int i = 0; i < 100; i++)
		step_free_inherited(inherited[i]);
	steps(count);
}

static void *busy(void *arg)
{
	while (!stop)
		steps(100);
	return arg;
}

pid_t _Fork(void) __attribute__((weak));

static pid_t make(const char *how, char **argv)
{
	pid_t pid;
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!strcmp(how, "_Fork") && _Fork)
		return _Fork();
	if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (pid == 0) {
			execl("/proc/self/exe", argv[0], "leaf", "0", argv[3], (char *)NULL);
			_exit(9);
		}
		return pid;
	}
	return fork();
}

static void reap(int *bad)
{
	int status = 0;
	if (wait(&status) > 0)
		*bad += status != 5 << 8;
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[1] : "";
	int children = argc > 3 ? atoi(argv[2]) : 0, bad = 0, alive = 0;
	pthread_t threads[3];
	count = argc > 3 ? atol(argv[3]) : 0;
	for (int i = 0; i < 100; i++)
		inherited[i] = step_alloc(100);
	steps(count);
	if (!strcmp(how, "leaf"))
		return 5;
	int threaded = !strcmp(how, "threads");
	for (int i = 0; threaded && i < 3; i++)
		if (pthread_create(&threads[i], NULL, busy, NULL))
			return 9;
	if (!strcmp(how, "daemon")) {
		if (fork() != 0)
			return 0;
		setsid();
		child();
		if (fork() != 0)
			_exit(0);
		usleep(300000); // run has returned
		step_child(); // inherits from its parent
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		steps(count);
		_exit(0);
	}
	for (int i = 0; i < children; i++, alive++) {
		while (alive >= 40)
			reap(&bad), alive--;
		pid_t pid = make(how, argv);
		if (pid == 0) {
			child();
			_exit(5);
		}
		if (pid < 0)
			return 9;
		steps(10);
	}
	while (alive-- > 0)
		reap(&bad);
	stop = 1;
	for (int i = 0; threaded && i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 100; i++)
		step_free(inherited[i]);
	return bad != 0;
}
