// SPDX-License-Identifier: Apache-2.0
//
// hooks_exec.c: counts programs that this one executes where the agent's library is not visible: in another root or
// mount namespace. They run unrecorded, and only their loader would report it.
//
// Each of these may be called in a child of vfork or in a signal handler, so they change nothing but the spool's
// header.

#include <errno.h>
#include <fcntl.h>

#include "base/base.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "record/real.h"

extern char **environ __attribute__((weak));

static char **own_environ(void)
{
	return &environ ? environ : 0;
}

static int preloads(char *const *env)
{
	static const char name[] = "LD_PRELOAD=";
	for (; env && *env; env++) {
		u32 i = 0;
		while (i < sizeof(name) - 1 && (*env)[i] == name[i])
			i++;
		if (i == sizeof(name) - 1)
			return 1;
	}
	return 0;
}

// Counts the program if the library is not visible to it. The program's loader will make the same call.
static int is_hidden(char *const *env)
{
	if (!ht_header || !ht_agent_path || ht_agent_path[0] != '/' || !preloads(env))
		return 0;
	long fd = ht_sys4(__NR_openat, AT_FDCWD, ht_agent_path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
	if (fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES)
		return 0;
	__atomic_fetch_add(&ht_header->hidden, 1, __ATOMIC_RELAXED);
	return 1;
}

// The exec failed.
static int failed(int hidden)
{
	if (hidden)
		__atomic_fetch_sub(&ht_header->hidden, 1, __ATOMIC_RELAXED);
	return -1;
}

static int execute(const char *path, char *const *args, char *const *env)
{
	int hidden = is_hidden(env);
	long r = ht_syscall(__NR_execve, (long)path, (long)args, (long)env, 0, 0, 0);
	errno = (int)-r;
	return failed(hidden);
}

HT_EXPORT int execve(const char *path, char *const args[], char *const env[])
{
	return execute(path, args, env);
}

HT_EXPORT int execv(const char *path, char *const args[])
{
	return execute(path, args, own_environ());
}

HT_EXPORT int execvpe(const char *file, char *const args[], char *const env[])
{
	if (!ht_real.execvpe)
		ht_init();
	if (!ht_real.execvpe) {
		errno = ENOSYS;
		return -1;
	}
	int hidden = is_hidden(env);
	ht_real.execvpe(file, args, env);
	return failed(hidden);
}

HT_EXPORT int execvp(const char *file, char *const args[])
{
	if (!ht_real.execvp)
		ht_init();
	if (!ht_real.execvp) {
		errno = ENOSYS;
		return -1;
	}
	int hidden = is_hidden(own_environ());
	ht_real.execvp(file, args);
	return failed(hidden);
}
