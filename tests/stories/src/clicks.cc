// A window that is opened three times, with a mark before each, while a cache fills and messages come and go. One of
// its parts leaves something behind each time; the others free what they take, or keep more of it the first time.
#include <heaptap/heaptap.h>

#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen; // which part leaves something behind

static std::vector<std::unique_ptr<char[]>> images, undo, observers, fonts;

// How many blocks of a part each opening leaves behind.
static const int left_blocks = 24;

struct Part {
	const char *name;
	size_t bytes;
	std::vector<std::unique_ptr<char[]>> *kept;
};
static const Part parts[] = {
	{"decode_images", 4096, &images}, {"record_undo", 1536, &undo}, {"connect_observers", 720, &observers}};

// leave keeps some of what a part has taken, if it is the one that leaves something behind.
static void leave(int part, std::vector<std::unique_ptr<char[]>> *some)
{
	for (int i = 0; chosen == part && i < left_blocks; i++)
		parts[part].kept->push_back(std::move((*some)[size_t(i)]));
}

OUTLINE void decode_images()
{
	std::vector<std::unique_ptr<char[]>> some;
	for (int i = 0; i < 400; i++)
		some.push_back(std::make_unique<char[]>(parts[0].bytes));
	leave(0, &some);
}

OUTLINE void record_undo()
{
	std::vector<std::unique_ptr<char[]>> some;
	for (int i = 0; i < 400; i++)
		some.push_back(std::make_unique<char[]>(parts[1].bytes));
	leave(1, &some);
}

OUTLINE void connect_observers()
{
	std::vector<std::unique_ptr<char[]>> some;
	for (int i = 0; i < 400; i++)
		some.push_back(std::make_unique<char[]>(parts[2].bytes));
	leave(2, &some);
}

// load_fonts keeps what the first opening loads, and little that comes later.
OUTLINE void load_fonts(int opening)
{
	for (int i = 0; i < (opening == 0 ? 300 : 7 * opening); i++)
		fonts.push_back(std::make_unique<char[]>(5000));
}

OUTLINE void open_window(int opening)
{
	load_fonts(opening);
	decode_images();
	record_undo();
	connect_observers();
}

// receive keeps messages, of sizes and in numbers that differ.
OUTLINE void receive(std::atomic<bool> *stop)
{
	name_thread("receiver");
	std::mt19937 random(1);
	std::vector<std::unique_ptr<char[]>> messages;
	while (!*stop) {
		for (unsigned i = 0; i < 20 + random() % 200; i++)
			messages.push_back(std::make_unique<char[]>(100 + random() % 3000));
		if (messages.size() > 4000)
			messages.erase(messages.begin(), messages.begin() + 1000 + random() % 2000);
		rest(3);
	}
	new std::vector<std::unique_ptr<char[]>>(std::move(messages)); // like all else here, it is never freed
}

OUTLINE void fill_cache(std::atomic<bool> *stop)
{
	name_thread("cache");
	std::mt19937 random(2);
	auto *cache = new std::map<unsigned, std::string>;
	while (!*stop) {
		for (unsigned i = 0; i < 10 + random() % 40; i++)
			(*cache)[unsigned(random() % 100000)] = std::string(200 + random() % 500, 'c');
		rest(2);
	}
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) % 3 : 0;
	std::atomic<bool> stop{false};
	std::thread receiver(receive, &stop), filler(fill_cache, &stop);
	rest(400);
	for (int opening = 0; opening < 3; opening++) {
		heaptap_mark("open window");
		open_window(opening);
		rest(400);
	}
	stop = true;
	receiver.join();
	filler.join();
	const Part &part = parts[chosen];
	printf("repeat %s %d %zu\n", part.name, left_blocks, left_blocks * part.bytes);
	fflush(stdout);
	_exit(0); // as many programs do: nothing is freed
}
