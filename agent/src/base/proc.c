// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>

#include "base/proc.h"
#include "base/environ.h"
#include "base/sys.h"

u64 ht_read_file(const char *path, void *out, u64 size)
{
	long fd = ht_sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;
	u64 have = 0, wanted;
	if (fd < 0)
		return 0;
	// Less than what was asked for is the end, of files and of those in /proc that are read here.
	do {
		wanted = size - have;
		n = ht_sys3(__NR_read, fd, (char *)out + have, wanted);
		have += n > 0 ? (u64)n : 0;
	} while (n > 0 && (u64)n == wanted && have < size);
	ht_sys1(__NR_close, fd);
	return have;
}

i64 ht_status_number(const char *key, void *buffer, u64 size)
{
	const char *text = buffer;
	u64 n = ht_read_file("/proc/self/status", buffer, size), length = ht_strlen(key);
	for (u64 i = 0; i + length < n; i++) {
		if ((i && text[i - 1] != '\n') || __builtin_memcmp(text + i, key, length) != 0)
			continue;
		for (i += length; i < n && (text[i] == ' ' || text[i] == '\t'); i++)
			;
		if (i == n || text[i] < '0' || text[i] > '9')
			return -1;
		i64 number = 0;
		for (; i < n && text[i] >= '0' && text[i] <= '9' && number < 1ll << 50; i++)
			number = number * 10 + (text[i] - '0');
		return number;
	}
	return -1;
}
