// Runs a command and prints what it used: the peak of its resident set in KiB, and its processor time in microseconds.
// The measured process is forked from this small one: a child's peak includes that of the process it was forked from.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage used;
	int status = 1;
	pid_t child = fork();
	if (child == 0 && argc > 1) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) < 0 || status != 0)
		return 1;
	fprintf(stderr, "\nused %ld %ld\n", used.ru_maxrss,
		(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
			used.ru_stime.tv_usec);
	return 0;
}
