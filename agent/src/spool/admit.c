// SPDX-License-Identifier: Apache-2.0
//
// admit.c: gets a spool from the recorder. A daemon that root has started may give up its privileges and execute a
// program. That program may not enter the run's folder, which is root's. But beside the folder there is another one
// with a socket, on which the recorder decides which processes belong to the run (docs/design/0007-the-runs-folder.md).
// It answers a connection with a file's name and descriptor, or closes it.
//
// The socket may belong to another user by now, so the peer must be root. A process under a seccomp filter does not
// ask, because its filter may kill it for creating a socket.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "spool/admit.h"
#include "base/environ.h"
#include "base/sys.h"
#include "spool/spool.h"

#define TIMEOUT 200000000u // ns
#define LONGEST_STATUS (16u << 10)

// Whether /proc says that no filter is in force. This uses only system calls that the agent makes anyway; a filter may
// kill the process for prctl.
static int no_filter(void)
{
	static const char wanted[] = "\nSeccomp:\t0\n";
	char text[256];
	u32 seen = 0, total = 0;
	long n, fd = ht_sys4(__NR_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	while (seen < sizeof(wanted) - 1 && total < LONGEST_STATUS &&
	       (n = ht_sys3(__NR_read, fd, text, sizeof(text))) > 0) {
		total += (u32)n;
		for (long i = 0; i < n && seen < sizeof(wanted) - 1; i++)
			seen = text[i] == wanted[seen] ? seen + 1 : text[i] == wanted[0];
	}
	ht_sys1(__NR_close, fd);
	return seen == sizeof(wanted) - 1;
}

// Sets the socket's timeout to the time that is left. Returns whether any is left.
static int limit(long fd, int option, u64 deadline)
{
	u64 now = ht_now_ns(CLOCK_MONOTONIC);
	if (now >= deadline)
		return 0;
	struct timeval left = {0, (suseconds_t)((deadline - now) / 1000 + 1)};
	return ht_sys5(__NR_setsockopt, fd, SOL_SOCKET, option, &left, sizeof(left)) == 0;
}

static long reach(const char *run, u64 deadline)
{
	static char folder[4096] HT_LARGE;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct ucred peer = {0, (uid_t)-1, 0};
	socklen_t size = sizeof(peer);
	long wrong = -1, fd, dir;
	ht_append(folder, sizeof(folder), run);
	ht_append(folder, sizeof(folder), "-door");
	dir = ht_sys4(__NR_openat, AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (dir < 0)
		return -1;
	// A socket's address cannot hold a long path.
	ht_append(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/");
	ht_append_number(to.sun_path, sizeof(to.sun_path), (u64)dir, 10);
	ht_append(to.sun_path, sizeof(to.sun_path), "/admit");
	fd = ht_sys3(__NR_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	do
		wrong = fd >= 0 && limit(fd, SO_SNDTIMEO, deadline) ? ht_sys3(__NR_connect, fd, &to, sizeof(to)) : -1;
	while (wrong == -4 /* EINTR */);
	ht_sys1(__NR_close, dir);
	if (fd < 0)
		return -1;
	if (wrong == 0 && ht_sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 0)
		return fd;
	ht_sys1(__NR_close, fd);
	return -1;
}

// Whether the text is the name of a spool, and nothing else.
static int is_name(const char *name, long size)
{
	static const char end[] = ".spool";
	const long tail = sizeof(end) - 1;
	if (size <= tail || size >= HT_SPOOL_NAME || __builtin_memcmp(name + size - tail, end, (u64)tail) != 0)
		return 0;
	for (long i = 0; i < size - tail; i++)
		if (!(name[i] >= '0' && name[i] <= '9') && !(name[i] >= 'a' && name[i] <= 'f') && name[i] != '-')
			return 0;
	return 1;
}

static long receive(long socket, char name[HT_SPOOL_NAME], u64 deadline)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec to = {name, HT_SPOOL_NAME};
	struct msghdr message = {
		.msg_iov = &to, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	long n = -1;
	int fd = -1;
	do
		n = limit(socket, SO_RCVTIMEO, deadline) ? ht_sys3(__NR_recvmsg, socket, &message, MSG_CMSG_CLOEXEC)
							 : -1;
	while (n == -4 /* EINTR */);
	if (n <= 0)
		return -1;
	if (message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.header.cmsg_level == SOL_SOCKET &&
	    control.header.cmsg_type == SCM_RIGHTS && control.header.cmsg_len == CMSG_LEN(sizeof(int)))
		__builtin_memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	if (fd < 0)
		return -1;
	struct stat st;
	if (is_name(name, n) && ht_sys2(__NR_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) {
		name[n] = 0;
		return fd;
	}
	ht_sys1(__NR_close, fd);
	return -1;
}

long ht_admit(const char *run, char name[HT_SPOOL_NAME])
{
	u64 deadline = ht_now_ns(CLOCK_MONOTONIC) + TIMEOUT;
	long socket = no_filter() ? reach(run, deadline) : -1, fd = -1;
	if (socket >= 0) {
		fd = receive(socket, name, deadline);
		ht_sys1(__NR_close, socket);
	}
	return fd;
}
