// SPDX-License-Identifier: Apache-2.0
//
// choose.c: which of the processes that load the agent are recorded.
//
// In the others, the agent steps aside before it has created anything.

#include <fcntl.h>

#include "hooks/choose.h"
#include "base/environ.h"
#include "base/sys.h"
#include "record/mode.h"

#define PATH_ROOM 4096

static u32 forks_chosen;

// Whether the text matches a pattern with * and ?.
static int matches(const char *pattern, const char *text)
{
	const char *star = 0, *retry = 0;
	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == 0;
}

// A pattern with a slash is matched against the path, any other against the file name.
static int exe_matches(const char *pattern, const char *exe)
{
	const char *name = exe;
	for (const char *s = pattern; *s; s++)
		if (*s == '/')
			return matches(pattern, exe);
	for (const char *s = exe; *s; s++)
		if (*s == '/')
			name = s + 1;
	return matches(pattern, name);
}

// Returns the rank of this process in an MPI job; -1 if it has none.
static i64 rank_of(void)
{
	static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
					    "PALS_RANKID"};
	u64 rank;
	for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = ht_environ_get(names[i]);
		if (value && ht_number_exact(value, &rank) == 0)
			return (i64)rank;
	}
	return -1;
}

static int take_rank(const char **s, i64 *rank)
{
	const char *start = *s;
	for (*rank = 0; **s >= '0' && **s <= '9' && *rank < 1ll << 32; ++*s)
		*rank = *rank * 10 + (**s - '0');
	return *s > start;
}

// Whether the rank is in a list such as 0,4-7. -1: the list is invalid.
static int in_list(const char *s, i64 rank)
{
	int found = 0;
	for (;; s++) {
		i64 low, high;
		if (!take_rank(&s, &low))
			return -1;
		high = low;
		if (*s == '-' && (s++, !take_rank(&s, &high)))
			return -1;
		if (low > high || (*s && *s != ','))
			return -1;
		found |= rank >= low && rank <= high;
		if (!*s)
			return found;
	}
}

// Whether another process has mapped this library.
static int has_agent(u64 pid)
{
	char path[40] = "/proc/";
	static char line[PATH_ROOM] HT_LARGE;
	static const char library[] = "libheaptap";
	u32 seen = 0;
	long fd, n;
	ht_append_number(path, sizeof(path), pid, 10);
	ht_append(path, sizeof(path), "/maps");
	fd = ht_sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	while (seen < sizeof(library) - 1 && (n = ht_sys3(__NR_read, fd, line, sizeof(line))) > 0)
		for (long i = 0; i < n && seen < sizeof(library) - 1; i++)
			seen = line[i] == library[seen] ? seen + 1 : line[i] == library[0];
	ht_sys1(__NR_close, fd);
	return seen == sizeof(library) - 1;
}

// Whether this is the program that heaptap run started, or one that it became by exec. Without heaptap run: whether the
// parent process runs without the agent.
static int is_first(void)
{
	u64 parent = (u64)ht_sys0(__NR_getppid), run;
	const char *value = ht_environ_get("HEAPTAP_RUN_PID");
	if (value && ht_environ_get("HEAPTAP_RUN") && ht_number_exact(value, &run) == 0)
		return parent == run;
	return !has_agent(parent);
}

// Settings that only heaptap run implements. A test compares this list with the flags.
static void warn_of_recorder_settings(void)
{
	static const char *const names[] = {"OUTPUT",
					    "OUTPUT_MODE",
					    "REQUIRE",
					    "QUIET",
					    "TOP",
					    "CONFIG",
					    "LOG",
					    "EXPORT",
					    "SCRUB",
					    "SCRUB_FUNCTIONS",
					    "SALT",
					    "KEEP",
					    "MAX_SIZE",
					    "MAX_DEPTH",
					    "ADDRESSES",
					    "RESIDENCY",
					    "MONITOR",
					    "ALLOCATOR",
					    "MIN_EVENTS",
					    "MARK_EVERY",
					    "MARK_ON",
					    "MARK_WHEN",
					    "CHECK",
					    "MAX_PEAK",
					    "MAX_OWN_PEAK",
					    "MAX_LEAKED",
					    "MAX_LEAKED_BLOCKS",
					    "MAX_ALLOCATIONS",
					    "MAX_BYTES",
					    "MAX_TEMPORARY",
					    "MAX_TEMPORARY_BYTES",
					    "NO_GROWTH",
					    "NO_MISMATCHES",
					    "BASELINE",
					    "TOLERANCE",
					    "STACK_TOLERANCE",
					    "COMPARE",
					    "SUPPRESSIONS",
					    "RUNTIME",
					    "ALLOW_LOST",
					    "ALLOW_EMPTY",
					    "ALLOW_UNMATCHED",
					    "STRICT_SUPPRESSIONS",
					    "BROAD",
					    "PROCESS",
					    "ALL",
					    "SINGLE",
					    "FORMAT",
					    "FROM",
					    "TO",
					    "THREAD",
					    "FREED_BY",
					    "REGION",
					    "MODULE",
					    "SIZE",
					    "OLD_SIZE",
					    "LIFETIME",
					    "FOCUS",
					    "IGNORE",
					    "HIDE"};
	static char text[2048] = "heaptap:";
	char name[40];
	u32 some = 0;
	for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++) {
		name[0] = 0;
		ht_append(name, sizeof(name), "HEAPTAP_");
		ht_append(name, sizeof(name), names[i]);
		if (!ht_environ_get(name))
			continue;
		ht_append(text, sizeof(text), some ? ", " : " ");
		ht_append(text, sizeof(text), name);
		some = 1;
	}
	if (!some)
		return;
	ht_append(text, sizeof(text), ": only heaptap run does that; ignored\n");
	ht_sys3(__NR_write, 2, text, ht_strlen(text));
}

int ht_is_chosen(void)
{
	static char exe[PATH_ROOM] HT_LARGE;
	const char *children = ht_environ_get("HEAPTAP_CHILDREN"), *pattern = ht_environ_get("HEAPTAP_EXE"),
		   *ranks = ht_environ_get("HEAPTAP_RANKS");
	int listed;

	if (!ht_environ_get("HEAPTAP_RUN"))
		warn_of_recorder_settings();
	forks_chosen = 1;
	if (!children && !pattern && !ranks)
		return 1;
	long n = ht_sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	if (ranks && *ranks) {
		listed = in_list(ranks, rank_of());
		if (listed == 0)
			return 0;
		if (listed < 0)
			ht_complain("HEAPTAP_RANKS", ranks, "a list of ranks as 0,4-7");
	}
	if (pattern && *pattern && !exe_matches(pattern, exe))
		return 0;
	if (!children || !*children || ht_streq(children, "all"))
		return 1;
	forks_chosen = !ht_streq(children, "none") && exe_matches(children, exe);
	return forks_chosen || is_first();
}

int ht_forks_are_chosen(void)
{
	return (int)forks_chosen;
}
