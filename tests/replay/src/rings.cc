// Eight threads in a ring hand strings to one another: each frees what the one before it has made, some of it late.
// Beside that they grow vectors and allocate with an alignment.
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Inbox {
	std::mutex mutex;
	std::deque<std::string *> strings;
};

static Inbox inboxes[8];

static void work(int number, int rounds)
{
	unsigned random = number + 1;
	std::vector<std::string *> kept;
	char *grown = nullptr;
	size_t size = 0;
	for (int i = 0; i < rounds; i++) {
		random = random * 1103515245 + 12345;
		auto *made = new std::string(20 + (random >> 16) % 300, 'x');
		{
			Inbox &next = inboxes[(number + 1) % 8];
			std::lock_guard<std::mutex> lock(next.mutex);
			next.strings.push_back(made);
		}
		std::string *got = nullptr;
		{
			Inbox &mine = inboxes[number];
			std::lock_guard<std::mutex> lock(mine.mutex);
			if (!mine.strings.empty()) {
				got = mine.strings.front();
				mine.strings.pop_front();
			}
		}
		if (got && (random >> 8) % 8 == 0)
			kept.push_back(got);
		else
			delete got;
		if (kept.size() > 2000) {
			for (auto *s : kept)
				delete s;
			kept.clear();
		}
		free(aligned_alloc(64, 64 * (1 + (random >> 20) % 10)));
		size = size > 20000 ? 10 : size + (random >> 12) % 1000;
		grown = static_cast<char *>(realloc(grown, size + 1));
		free(calloc(1 + random % 7, 24));
	}
	free(grown);
	for (auto *s : kept)
		delete s;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20000;
	std::vector<std::thread> threads;
	for (int i = 0; i < 8; i++)
		threads.emplace_back(work, i, rounds);
	for (auto &t : threads)
		t.join();
	// What is left in the inboxes leaks.
}
