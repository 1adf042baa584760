// SPDX-License-Identifier: Apache-2.0
//
// environ.c: the environment and the auxiliary vector as the kernel passed them, and a few string functions.
//
// The environment is read from /proc, because the first allocation may come before libc has set environ, and the
// program may change it later; without /proc, environ is used. The loader knows the auxiliary vector from the
// beginning; without getauxval, it is read from /proc, too. (Both symbols are weak.)

#include <elf.h>
#include <errno.h>

#include "base/environ.h"
#include "base/base.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"

extern char **environ __attribute__((weak));
unsigned long getauxval(unsigned long type) __attribute__((weak));

#define ENVIRON_MAX (4u << 20)

static char small[32768] HT_LARGE; // enough for most; a mapping would cost more than the page or two that are used
static char *block; // NUL-terminated strings, ending with an empty one
static u64 block_size, block_used;
static u64 auxv[64];
static u32 auxv_count;

void ht_environ_init(void)
{
	u64 n = 0;
	if (!ht_auxv(AT_PAGESZ))
		n = ht_read_file("/proc/self/auxv", auxv, sizeof(auxv) - 16);
	auxv_count = (u32)(n / 16);
	block_size = sizeof(small);
	for (block = small; block; block = ht_map(block_size)) {
		n = ht_read_file("/proc/self/environ", block, block_size - 2);
		if (n < block_size - 2) {
			block_used = (n + 2 + 15) & ~15ull;
			return;
		}
		ht_environ_done();
		if ((block_size *= 8) > ENVIRON_MAX)
			return;
	}
}

void ht_environ_done(void)
{
	if (block && block != small)
		ht_unmap(block, block_size);
	block = 0;
}

void *ht_environ_room(u64 size)
{
	return block && block_used + size <= block_size ? block + block_used : 0;
}

static const char *value_of(const char *entry, const char *name)
{
	while (*name && *entry == *name)
		entry++, name++;
	return *name == 0 && *entry == '=' ? entry + 1 : 0;
}

const char *ht_environ_get(const char *name)
{
	const char *v;
	if (block && *block) {
		for (const char *e = block; *e; e += ht_strlen(e) + 1)
			if ((v = value_of(e, name)))
				return *v ? v : 0;
		return 0;
	}
	if (&environ && environ)
		for (char **e = environ; *e; e++)
			if ((v = value_of(*e, name)))
				return *v ? v : 0;
	return 0;
}

// Variables that change how an allocator behaves, or that say which rank of a job this process is. A prefix ends with
// '*'.
static const char *const kept[] = {"LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_*",	 "GLIBC_TUNABLES",	 "PYTHONMALLOC",
				   "HEAPTAP_*",	 "JEMALLOC_*",	    "_RJEM_*",	 "TCMALLOC_*",		 "MIMALLOC_*",
				   "OMP_NUM_*",	 "PMI_RANK",	    "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
				   "PALS_RANKID"};

static int is_kept(const char *entry)
{
	for (u32 i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const char *k = kept[i], *e = entry;
		while (*k && *k == *e)
			k++, e++;
		if (*k == '*' || (*k == 0 && *e == '='))
			return 1;
	}
	return 0;
}

u64 ht_environ_copy(char *out, u64 size)
{
	u64 used = 0;
	if (!block)
		return 0;
	for (const char *e = block; *e;) {
		u64 n = ht_strlen(e) + 1;
		if (is_kept(e) && used + n <= size) {
			for (u64 i = 0; out && i < n; i++)
				out[used + i] = e[i];
			used += n;
		}
		e += n;
	}
	return used;
}

u64 ht_auxv(u64 type)
{
	for (u32 i = 0; i < auxv_count && auxv[2 * i]; i++)
		if (auxv[2 * i] == type)
			return auxv[2 * i + 1];
	if (auxv_count || !getauxval)
		return 0;
	int saved = errno;
	u64 value = getauxval(type);
	errno = saved;
	return value;
}

u64 ht_strlen(const char *s)
{
	u64 n = 0;
	while (s[n])
		n++;
	return n;
}

int ht_streq(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

u64 ht_append(char *out, u64 size, const char *s)
{
	u64 n = ht_strlen(out);
	while (*s && n + 1 < size)
		out[n++] = *s++;
	out[n] = 0;
	return n;
}

u64 ht_append_number(char *out, u64 size, u64 value, u32 base)
{
	char text[24];
	u32 i = sizeof(text);
	text[--i] = 0;
	do {
		text[--i] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value && i);
	return ht_append(out, size, text + i);
}

// Reads digits and a suffix, and advances s past them.
static u64 take_number(const char **s)
{
	u64 value = 0, shift = 0;
	for (; **s >= '0' && **s <= '9'; ++*s)
		value = value > (1ull << 59) ? 1ull << 60 : value * 10 + (u64)(**s - '0');
	switch (**s | 32) {
	case 'g':
		shift += 10;
		// fall through
	case 'm':
		shift += 10;
		// fall through
	case 'k':
		shift += 10;
		++*s;
	}
	return value >> (63 - shift) ? 1ull << 63 : value << shift;
}

u64 ht_number(const char *s, u64 otherwise)
{
	return s && *s >= '0' && *s <= '9' ? take_number(&s) : otherwise;
}

int ht_number_exact(const char *s, u64 *value)
{
	if (*s < '0' || *s > '9')
		return -1;
	*value = take_number(&s);
	return *s == 0 || ht_streq(s, "iB") || ht_streq(s, "B") ? 0 : -1;
}

void ht_complain(const char *name, const char *value, const char *wanted)
{
	char text[256] = "heaptap: ";
	ht_append(text, sizeof(text), name);
	ht_append(text, sizeof(text), "=");
	ht_append(text, 120, value);
	ht_append(text, sizeof(text), ": must be ");
	ht_append(text, sizeof(text), wanted);
	ht_append(text, sizeof(text), "; ignored\n");
	ht_sys3(__NR_write, 2, text, ht_strlen(text));
}
