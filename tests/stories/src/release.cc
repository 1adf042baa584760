// A program that answers requests, in two releases. The second one keeps more in one of its caches: which one, a number
// decides. The line MOVED stands for code that only the second release has, so that all lines below it move.
#include "story.h"

#define OUTLINE __attribute__((noinline))

using Block = std::unique_ptr<char[]>;

static std::vector<Block> cached;

// A table that the build decides on.
#ifndef TABLE
#define TABLE 5000
#endif
static char table[TABLE];

static void keep(Block block)
{
	used(block.get());
	cached.push_back(std::move(block));
}

// MOVED
// Each keeps blocks of its own size, and more of them if it was chosen.
OUTLINE int cache_thumbnails(int n)
{
	for (int i = 0; i < n; i++)
		keep(Block(new char[9000]));
	return __LINE__ - 1;
}

// MOVED
OUTLINE int cache_sessions(int n)
{
	for (int i = 0; i < n; i++)
		keep(Block(new char[7000]));
	return __LINE__ - 1;
}

OUTLINE int cache_queries(int n)
{
	for (int i = 0; i < n; i++)
		keep(Block(new char[8000]));
	return __LINE__ - 1;
}

// MOVED
// What both releases have, and more of it than of anything else.
OUTLINE void load_index(int n)
{
	for (int i = 0; i < n; i++)
		keep(Block(new char[60000]));
}

// MOVED
int main(int argc, char **argv)
{
	used(table);
	int chosen = argc > 1 ? atoi(argv[1]) % 3 : 0;
	bool second = argc > 2;
	struct {
		const char *name;
		int (*run)(int);
	} caches[] = {{"cache_thumbnails", cache_thumbnails},
		      {"cache_sessions", cache_sessions},
		      {"cache_queries", cache_queries}};
	load_index(400);
	for (int i = 0; i < 3; i++) {
		bool more = second && i == chosen;
		int line = caches[i].run(more ? 900 : 300);
		if (more)
			printf("bloat %s release.cc:%d\n", caches[i].name, line);
	}
	usleep(300000);
}
