// SPDX-License-Identifier: Apache-2.0
//
// A seccomp filter of the main thread, which all threads that it starts inherit, reports these calls to a thread that
// was started before. That counts them, and lets them go on. Nothing of the allocator runs in it.

#define _GNU_SOURCE
#include "calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");

// Of later kernels' headers.
#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1
#endif

static u64 *counted;
static int off, reports = -1;

static void *count(void *unused)
{
	int fd;
	while ((fd = __atomic_load_n(&reports, __ATOMIC_ACQUIRE)) == -1) {
		struct timespec t = {0, 100000};
		syscall(SYS_nanosleep, &t, 0);
	}
	while (fd >= 0) {
		struct seccomp_notif call;
		memset(&call, 0, sizeof call);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			break;
		}
		if (call.data.nr >= 0 && call.data.nr < 512 && !__atomic_load_n(&off, __ATOMIC_RELAXED))
			counted[call.data.nr]++;
		struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return unused;
}

int count_calls(u64 *counts)
{
	static const int numbers[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_mprotect};
	enum { N = sizeof numbers / sizeof *numbers };
	struct sock_filter f[N + 3];
	unsigned n = 0;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < N; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)numbers[i], (u8)(N - i), 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog program = {(unsigned short)n, f};
	pthread_t id;
	counted = counts;
	errno = pthread_create(&id, 0, count, 0);
	if (errno || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	__atomic_store_n(&reports, fd < 0 ? -2 : (int)fd, __ATOMIC_RELEASE);
	return fd < 0 ? -1 : 0;
}

void count_no_more(void)
{
	__atomic_store_n(&off, 1, __ATOMIC_RELAXED);
}
