// SPDX-License-Identifier: Apache-2.0
//
// ask.c: sends requests to the recorder, through the socket in the run's folder that `heaptap ctl` also uses: a line of
// JSON in each direction, and after the answer the output of a dump. The recorder first reads what this thread has
// recorded. The thread holds no locks meanwhile.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "observe/ask.h"
#include "base/environ.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/spool.h"
#include "record/record.h"

// In memory of its own, because the caller may have little stack left.
struct answer {
	int fd;
	u64 deadline; // CLOCK_MONOTONIC, ns
	u64 have, at; // bytes in text, and how many of them were consumed
	char question[1024], line[2048], text[4096];
};

static int wait_for(struct answer *a, short events)
{
	u64 now = ht_now_ns(CLOCK_MONOTONIC);
	struct pollfd p = {a->fd, events, 0};
	if (now >= a->deadline)
		return HEAPTAP_TIMEOUT;
	long ready = ht_sys3(__NR_poll, &p, 1, (a->deadline - now) / 1000000 + 1);
	return ready < 0 && ready != -4 /* EINTR */ ? HEAPTAP_NO_RECORDER : HEAPTAP_OK;
}

// Reads more into the text, all of which was consumed.
static int more(struct answer *a)
{
	for (;;) {
		long n = ht_sys6(__NR_recvfrom, a->fd, a->text, sizeof(a->text) - 1, MSG_DONTWAIT, 0, 0);
		if (n > 0) {
			a->have = (u64)n;
			a->at = 0;
			a->text[n] = 0;
			return HEAPTAP_OK;
		}
		if (n == 0 || (n != -11 /* EAGAIN */ && n != -4))
			return HEAPTAP_NO_RECORDER;
		int wrong = wait_for(a, POLLIN);
		if (wrong)
			return wrong;
	}
}

static int send_line(struct answer *a, const char *text)
{
	u64 left = ht_strlen(text);
	while (left) {
		long n = ht_sys6(__NR_sendto, a->fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
		if (n > 0) {
			text += n;
			left -= (u64)n;
			continue;
		}
		if (n != -11 && n != -4)
			return HEAPTAP_NO_RECORDER;
		int wrong = wait_for(a, POLLOUT);
		if (wrong)
			return wrong;
	}
	return HEAPTAP_OK;
}

static int reach(struct answer *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!ht_spool_folder(to.sun_path, sizeof(to.sun_path) - 10))
		return HEAPTAP_NO_RECORDER;
	ht_append(to.sun_path, sizeof(to.sun_path), "/control");
	a->fd = (int)ht_sys3(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return HEAPTAP_NO_RECORDER;
	for (;;) { // the recorder may still be starting
		struct timespec nap = {0, 1000000};
		long wrong = ht_sys3(__NR_connect, a->fd, &to, sizeof(to));
		if (wrong != -2 /* ENOENT */ && wrong != -11 /* EAGAIN: its queue of connections is full */)
			return wrong < 0 ? HEAPTAP_NO_RECORDER : HEAPTAP_OK;
		if (ht_now_ns(CLOCK_MONOTONIC) >= a->deadline)
			return HEAPTAP_TIMEOUT;
		ht_sys2(__NR_nanosleep, &nap, 0);
	}
}

// Returns the number that follows a key in the answer's line; `otherwise` if the key is missing.
static u64 number_behind(const char *line, const char *key, u64 otherwise)
{
	u64 size = ht_strlen(key), n = 0;
	for (const char *end = line + ht_strlen(line); line + size <= end; line++) {
		if (__builtin_memcmp(line, key, size) != 0)
			continue;
		for (line += size; *line >= '0' && *line <= '9'; line++)
			n = n * 10 + (u64)(*line - '0');
		return n;
	}
	return otherwise;
}

// Sends the request, and reads the first line of the answer into `line`, cut if it is too long. `stack` is a node of
// the tree, or 0.
static int ask(struct answer *a, const char *verb, const char *text, u32 stack, unsigned timeout)
{
	const u64 size = sizeof(a->line), room = sizeof(a->question);
	char *question = a->question, *line = a->line;
	u64 n = 0;
	int wrong;
	for (const char *s = text; *s; s++)
		if (*s < ' ' || *s == '"' || *s == '\\' || s - text > 500)
			return HEAPTAP_INVALID;
	ht_append(question, room, "{\"Verb\":\"");
	ht_append(question, room, verb);
	ht_append(question, room, "\",\"Text\":\"");
	ht_append(question, room, text);
	ht_append(question, room, "\",\"Spool\":\"");
	ht_append(question, room, ht_spool_name());
	ht_append(question, room, "\",\"PID\":");
	ht_append_number(question, room, ht_pid, 10);
	ht_append(question, room, ",\"TID\":");
	ht_append_number(question, room, (u64)ht_sys0(__NR_gettid), 10);
	ht_append(question, room, ",\"Stack\":");
	ht_append_number(question, room, stack, 10);
	ht_append(question, room, "}\n");

	a->deadline = ht_now_ns(CLOCK_MONOTONIC) + timeout * 1000000ull;
	wrong = reach(a);
	if (!wrong)
		wrong = send_line(a, question);
	while (!wrong) {
		if (a->at == a->have && (wrong = more(a)))
			break;
		char c = a->text[a->at++];
		if (c == '\n')
			break;
		if (n < size - 1)
			line[n++] = c;
	}
	line[n] = 0;
	if (!wrong && number_behind(line, "\"Error\":\"", ~0ull) != ~0ull)
		wrong = HEAPTAP_INVALID;
	return wrong;
}

static struct answer *begin(void)
{
	struct answer *a = ht_map(sizeof(*a));
	if (a)
		a->fd = -1;
	return a;
}

static int end(struct answer *a, int wrong)
{
	if (a->fd >= 0)
		ht_sys1(__NR_close, a->fd);
	ht_unmap(a, sizeof(*a));
	return wrong;
}

// Writes what follows the line.
static int write_body(struct answer *a, int fd)
{
	for (u64 left = number_behind(a->line, "\"Body\":", 0); left;) {
		int wrong = a->at == a->have ? more(a) : HEAPTAP_OK;
		if (wrong)
			return wrong;
		u64 n = a->have - a->at < left ? a->have - a->at : left;
		long written = ht_sys3(__NR_write, fd, a->text + a->at, n);
		if (written < 0 && written != -4)
			return HEAPTAP_INVALID;
		if (written > 0)
			a->at += (u64)written, left -= (u64)written;
	}
	return HEAPTAP_OK;
}

int ht_ask_live(struct heaptap_live *out, size_t size, unsigned timeout)
{
	struct answer *a;
	if (!out || size < sizeof(*out))
		return HEAPTAP_INVALID;
	if (!ht_init())
		return HEAPTAP_NOT_LOADED;
	if (!(a = begin()))
		return HEAPTAP_FULL;
	int wrong = ask(a, "flush", "", 0, timeout);
	if (!wrong) {
		out->bytes = number_behind(a->line, "\"live_bytes\":", 0);
		out->blocks = number_behind(a->line, "\"live_blocks\":", 0);
	}
	return end(a, wrong);
}

static int print_answer(int fd, const char *verb, const char *text, u32 stack, unsigned timeout)
{
	struct answer *a = begin();
	if (!a)
		return HEAPTAP_FULL;
	int wrong = ask(a, verb, text, stack, timeout);
	return end(a, wrong ? wrong : write_body(a, fd));
}

int ht_ask_dump(int fd, const char *what, unsigned timeout)
{
	struct ht_caller c = HT_CALLER();
	return ht_init() ? print_answer(fd, "dump", what ? what : "", ht_stack_of(c), timeout) : HEAPTAP_NOT_LOADED;
}

int ht_ask_threshold(int fd, const char *what, u32 stack, unsigned timeout)
{
	return print_answer(fd, "threshold", what, stack, timeout);
}
