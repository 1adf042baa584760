// SPDX-License-Identifier: Apache-2.0
//
// away.c: takes away from itself what it would need to open a file, and goes on so that all arrays of the spool must
// grow: more threads, children, chunks and call stacks than before. Usage: away HOW [alone]
#include "step.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define THREADS 150
#define CHILDREN 80

static void need(int ok, const char *what)
{
	if (ok)
		return;
	dprintf(1, "cannot %s: %s\n", what, strerror(errno));
	_exit(77);
}

static void close_all(void)
{
	need(syscall(SYS_close_range, 0u, ~0u, 0u) == 0, "close all");
}

static void over_all(void)
{
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 1000; fd++)
		if (fd != null)
			dup2(null, fd);
}

static void change_root(void)
{
	char dir[] = "away.XXXXXX";
	need(mkdtemp(dir) && chroot(dir) == 0 && chdir("/") == 0, "change the root");
}

static void change_user(void)
{
	need(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0,
	     "change the user");
}

// A filter that allows nothing that opens, and on its kernel MADV_POPULATE_WRITE is unknown.
static void sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23, 1, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
	     "filter");
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	steps(300);
	pthread_barrier_wait(&barrier); // all of them live at once
	step_free(left(7));
	return arg;
}

static void grow(int children)
{
	pthread_t t[THREADS];
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 18);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		need(pthread_create(&t[i], &attr, thread, NULL) == 0, "make a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	step_free(left(15));
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();
		need(pid >= 0, "fork");
		if (pid == 0) {
			step_child();
			steps(100);
			_exit(0);
		}
		if (i >= 10)
			wait(NULL);
	}
	pid_t late = children ? fork() : -1; // has been looked at for a while before its last steps
	if (late == 0) {
		step_child();
		steps(100);
		usleep(300000);
		steps(100);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	steps(200000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	steps(100);
	if (!strcmp(how, "closes"))
		close_all();
	else if (!strcmp(how, "dups"))
		over_all();
	else if (!strcmp(how, "chroot"))
		change_root();
	else if (!strcmp(how, "user"))
		change_user();
	else if (!strcmp(how, "everything"))
		close_all(), change_root(), change_user();
	else if (!strcmp(how, "sandbox"))
		sandbox();
	else if (!strcmp(how, "files"))
		need(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}) == 0, "setrlimit");
	else if (!strcmp(how, "mounts")) {
		need(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			     mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0,
		     "unshare mounts");
	} else if (!strcmp(how, "pids")) {
		need(unshare(CLONE_NEWPID) == 0, "unshare process ids"); // of its children, that is
		pid_t pid = fork();
		if (pid == 0) {
			step_child();
			grow(CHILDREN);
			usleep(300000);
			steps(1000);
			_exit(7);
		}
		int status = 0;
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	} else if (!strcmp(how, "users"))
		need(unshare(CLONE_NEWUSER) == 0, "unshare users");
	else if (!strcmp(how, "undumpable"))
		need(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
	else if (!strcmp(how, "exec-as-user")) {
		change_user();
		execl("/proc/self/exe", argv[0], "stays", (char *)NULL);
	}
	grow(argc > 2 ? 0 : CHILDREN);
	return 7;
}
