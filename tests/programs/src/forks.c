// SPDX-License-Identifier: Apache-2.0
//
// forks.c: forks N children while another thread allocates. Each child frees a block of its parent's, allocates 1000
// blocks in child_site(), keeps 10 of them, and forks a grandchild that does the same. Usage: forks N
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile blocks[16];
static volatile int stop;

__attribute__((noinline, noclone)) static void child_site(void)
{
	for (int i = 0; i < 1000; i++) {
		void *p = malloc(200);
		if (i >= 10)
			free(p);
		else
			blocks[i] = p;
	}
}

static void *busy(void *arg)
{
	while (!stop) {
		void *volatile p = malloc(64);
		free(p);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, bad = 0;
	pthread_t t;
	if (pthread_create(&t, NULL, busy, NULL))
		return 3;
	for (int i = 0; i < n; i++) {
		void *volatile mine = malloc(300);
		pid_t pid = fork();
		if (pid == 0) {
			free(mine);
			child_site();
			pid_t grand = fork();
			if (grand == 0) {
				free(blocks[3]);
				child_site();
				_exit(5);
			}
			int status = 0;
			waitpid(grand, &status, 0);
			_exit(WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 6 : 1);
		}
		int status = 0;
		waitpid(pid, &status, 0);
		bad += !(WIFEXITED(status) && WEXITSTATUS(status) == 6);
		free(mine);
	}
	stop = 1;
	pthread_join(t, NULL);
	return bad;
}
