// SPDX-License-Identifier: Apache-2.0
//
// maps.c: asks the kernel whether an address can be read, and to which mapping it belongs.

#include <errno.h>
#include <linux/futex.h>
#include <time.h>

#include "base/sys.h"
#include "unwind/modules.h"

u32 ht_valgrind;

#define O_READ (0 | 02000000) // O_RDONLY | O_CLOEXEC

int ht_readable(u64 address)
{
	// The kernel copies the new mask before it checks `how`: EFAULT means that the memory cannot be read, EINVAL
	// that it can.
	static const struct timespec at_once = {0, 0};
	long r = ht_likely(!ht_valgrind) ? ht_sys4(__NR_rt_sigprocmask, ~0u, address, 0, 8) : -EPERM;
	if (ht_likely(r == -EFAULT || r == -EINVAL))
		return r == -EINVAL;
	// If a filter forbids that, or valgrind would complain: FUTEX_WAIT reads the word first, too.
	r = ht_sys6(__NR_futex, address & ~3ull, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &at_once, 0, 0);
	return r == 0 || r == -EAGAIN || r == -ETIMEDOUT || r == -EINTR;
}

static u64 hexadecimal(const char **p)
{
	u64 v = 0;
	for (;; (*p)++) {
		u32 c = (u8) * *p;
		u32 digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
		if (digit == 16)
			return v;
		v = v << 4 | digit;
	}
}

static const char *skip_field(const char *p)
{
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	return p;
}

struct previous {
	u64 file, device, inode;
};

// start-end perms offset device inode path, see proc_pid_maps(5).
static void parse(const char *p, struct previous *prev, struct ht_mapping *m)
{
	u64 offset, device, inode = 0;
	m->start = hexadecimal(&p);
	p += *p == '-';
	m->end = hexadecimal(&p);
	p = skip_field(p);
	m->readable = *p == 'r';
	m->executable = p[0] && p[1] && p[2] == 'x';
	p = skip_field(p);
	offset = hexadecimal(&p);
	p = skip_field(p);
	device = hexadecimal(&p) << 32;
	p += *p == ':';
	device |= hexadecimal(&p);
	p = skip_field(p);
	for (; *p >= '0' && *p <= '9'; p++)
		inode = inode * 10 + (u64)(*p - '0');
	m->path = skip_field(p);
	if (!inode && *m->path != '[') { // anonymous memory, perhaps a module's: does not end the run
		m->file = 0;
		return;
	}
	if (offset == 0 || device != prev->device || inode != prev->inode)
		*prev = (struct previous){m->start, device, inode};
	m->file = prev->file;
}

void ht_maps_walk(char *buffer, u64 size, int (*visit)(const struct ht_mapping *, void *), void *arg)
{
	static const char name[] = "/proc/self/maps";
	struct previous prev = {0, 0, 0};
	struct ht_mapping m;
	u64 have = 0;
	int done = 0, skipping = 0;
	long fd = ht_sys4(__NR_openat, -100 /* AT_FDCWD */, name, O_READ, 0);

	if (fd < 0)
		return;
	while (!done) {
		long n = ht_sys3(__NR_read, fd, buffer + have, size - 1 - have);
		if (n == -4 /* EINTR */)
			continue;
		if (n <= 0)
			break;
		have += (u64)n;
		u64 line = 0;
		for (u64 i = 0; i < have && !done; i++) {
			if (buffer[i] != '\n')
				continue;
			buffer[i] = 0;
			if (!skipping) {
				parse(buffer + line, &prev, &m);
				done = visit(&m, arg);
			}
			skipping = 0;
			line = i + 1;
		}
		if (done)
			break; // the path stays where it is
		have -= line;
		__builtin_memmove(buffer, buffer + line, have);
		if (have == size - 1) { // a line longer than the buffer cannot be the one we look for
			have = 0;
			skipping = 1;
		}
	}
	ht_sys1(__NR_close, fd);
}

struct search {
	u64 address;
	struct ht_mapping *out;
	int found;
};

static int contains(const struct ht_mapping *m, void *arg)
{
	struct search *s = arg;
	s->found = s->address - m->start < m->end - m->start;
	if (s->found)
		*s->out = *m;
	return s->found;
}

int ht_maps_find(u64 address, char *buffer, u64 size, struct ht_mapping *out)
{
	struct search s = {address, out, 0};
	ht_maps_walk(buffer, size, contains, &s);
	return s.found ? 0 : -1;
}

// Mappings of generated code found so far: number of the first page << 28 | pages. Like the rules derived from them,
// they may outlive the code, so nothing is read there because of them.
static u64 generated[8];
static u32 next_generated;

int ht_is_generated(u64 pc, char *buffer)
{
	struct ht_mapping m;
	for (u32 i = 0; i < 8; i++) {
		u64 word = ht_load(&generated[i]);
		if ((pc >> 12) - (word >> 28) < (word & 0xfffffff))
			return 1;
	}
	if (pc >> 48 || ht_maps_find(pc, buffer, HT_MODULE_BUFFER, &m) < 0 || !m.executable)
		return 0;
	u64 pages = (m.end - m.start) >> 12;
	ht_store(&generated[__atomic_fetch_add(&next_generated, 1, __ATOMIC_RELAXED) & 7],
		 m.start >> 12 << 28 | (pages < 0xfffffff ? pages : 0xfffffff));
	return 1;
}
