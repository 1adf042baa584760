// A store whose resident set is three times what it uses: most of many small blocks are freed again, but not the pages
// that they were on, and it maps memory of its own.
#include <sys/mman.h>

#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen;

OUTLINE char *map_arena(size_t size)
{
	void *arena = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		abort();
	for (size_t i = 0; i < size; i += 1 << 20) {
		memset(static_cast<char *>(arena) + i, 1, 1 << 20);
		rest(10);
	}
	return static_cast<char *>(arena);
}

// load keeps one entry of n: the rest is freed, in pages that stay.
OUTLINE std::vector<std::unique_ptr<char[]>> load_entries(size_t count, size_t n)
{
	std::vector<std::unique_ptr<char[]>> all, kept;
	for (size_t i = 0; i < count; i++) {
		all.push_back(std::make_unique<char[]>(300));
		if (i % 2000 == 0)
			rest(5);
	}
	for (size_t i = 0; i < count; i += n)
		kept.push_back(std::move(all[i]));
	return kept;
}

OUTLINE std::vector<std::unique_ptr<char[]>> read_pages(size_t count)
{
	std::vector<std::unique_ptr<char[]>> pages;
	for (size_t i = 0; i < count; i++) {
		pages.push_back(std::make_unique<char[]>(16000));
		if (i % 100 == 0)
			rest(20);
	}
	return pages;
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) % 2 : 0;
	// Either the freed blocks or the arena are more.
	auto entries = load_entries(chosen ? 50000 : 120000, 8);
	auto pages = read_pages(1000);
	char *arena = map_arena(chosen ? 40 << 20 : 12 << 20);
	for (int i = 0; i < 20; i++) {
		auto reply = std::make_unique<char[]>(100000 + i);
		reply[0] = arena[i];
		rest(50);
	}
	printf("resident %s map_arena\n", chosen ? "mapped" : "slack");
	munmap(arena, chosen ? 40 << 20 : 12 << 20);
}
