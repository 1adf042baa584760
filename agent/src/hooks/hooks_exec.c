// SPDX-License-Identifier: Apache-2.0
//
// hooks_exec.c: counts programs that this one executes and that will run unrecorded: where the agent's library is not
// visible, in another root or mount namespace, and those that are statically linked. Nothing else would report it.
// What posix_spawn executes is not counted.
//
// Each of these may be called in a child of vfork or in a signal handler, so they change nothing but the spool's
// header.

#include <elf.h>
#include <errno.h>
#include <fcntl.h>

#include "base/base.h"
#include "base/environ.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "record/real.h"

extern char **environ __attribute__((weak));

static char **own_environ(void)
{
	return &environ ? environ : 0;
}

// Returns what follows NAME= in an environment; null if the variable is missing.
static const char *value_in(char *const *env, const char *name)
{
	for (; env && *env; env++) {
		u64 i = 0;
		while (name[i] && (*env)[i] == name[i])
			i++;
		if (!name[i] && (*env)[i] == '=')
			return *env + i + 1;
	}
	return 0;
}

// Whether the library is not visible to a program. Its loader will make the same call.
static int is_hidden(void)
{
	if (!ht_agent_path || ht_agent_path[0] != '/')
		return 0;
	long fd = ht_sys4(__NR_openat, AT_FDCWD, ht_agent_path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
	return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES;
}

static const char *base_name(const char *path)
{
	const char *name = path;
	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

// Whether a file is a program that names no loader, and is none.
static int is_static(const char *path)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	int found = 0;
	long fd = ht_sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (ht_sys4(__NR_pread64, fd, &head, sizeof(head), 0) == sizeof(head) &&
	    __builtin_memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    (head.e_type == ET_EXEC || head.e_type == ET_DYN) && head.e_phentsize == sizeof(part)) {
		found = 1;
		for (u32 i = 0; found && i < head.e_phnum && i < 64; i++)
			found = ht_sys4(__NR_pread64, fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)) ==
					sizeof(part) &&
				part.p_type != PT_INTERP;
	}
	ht_sys1(__NR_close, fd);
	const char *name = base_name(path);
	return found && !(name[0] == 'l' && name[1] == 'd' && (name[2] == '-' || name[2] == '.'));
}

static int can_execute(const char *path)
{
	return ht_sys3(__NR_faccessat, AT_FDCWD, path, 1 /* X_OK */) == 0;
}

// Whether a file is one that execvp finds in PATH, and is static. Longer paths than most are not looked at.
static int is_static_in_path(const char *file)
{
	const char *in = value_in(own_environ(), "PATH"), *end;
	char path[512];
	u64 size = ht_strlen(file) + 1;

	if (base_name(file) != file)
		return is_static(file);
	for (in = in ? in : "/bin:/usr/bin";; in = end + 1) {
		for (end = in; *end && *end != ':'; end++)
			;
		u64 n = (u64)(end - in);
		if (n + 1 + size <= sizeof(path)) {
			__builtin_memcpy(path, in, n);
			path[n] = '/';
			__builtin_memcpy(path + n + (n > 0), file, size); // an empty one is the working directory
			if (can_execute(path))
				return is_static(path);
		}
		if (!*end)
			return 0;
	}
}

// Counts the program if it will run unrecorded. search: as execvp finds it. Returns where; null: nowhere.
static uint64_t *foresee(const char *file, int search, char *const *env)
{
	uint64_t *count = 0;
	if (!ht_header || !file || !value_in(env, "LD_PRELOAD"))
		return 0;
	if (is_hidden())
		count = &ht_header->hidden;
	else if (search ? is_static_in_path(file) : is_static(file))
		count = &ht_header->static_programs;
	if (count)
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	return count;
}

// The exec failed.
static int failed(uint64_t *count)
{
	if (count)
		__atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
	return -1;
}

static int execute(const char *path, char *const *args, char *const *env)
{
	uint64_t *count = foresee(path, 0, env);
	long r = ht_syscall(__NR_execve, (long)path, (long)args, (long)env, 0, 0, 0);
	errno = (int)-r;
	return failed(count);
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
	uint64_t *count = foresee(file, 1, env);
	ht_real.execvpe(file, args, env);
	return failed(count);
}

HT_EXPORT int execvp(const char *file, char *const args[])
{
	if (!ht_real.execvp)
		ht_init();
	if (!ht_real.execvp) {
		errno = ENOSYS;
		return -1;
	}
	uint64_t *count = foresee(file, 1, own_environ());
	ht_real.execvp(file, args);
	return failed(count);
}
