// A server in which messages go from thread to thread: two producers allocate, three consumers free, and a few of the
// blocks take another way. Early on it loads a table, which it keeps until it is told to stop; another function frees
// that late.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen; // which producer, which consumer, and which function frees the table

struct Queue {
	std::deque<char *> list;
	std::mutex lock;
	std::condition_variable ready;
	bool closed = false;

	void put(char *p)
	{
		{
			std::lock_guard<std::mutex> l(lock);
			list.push_back(p);
		}
		ready.notify_one();
	}

	char *take()
	{
		std::unique_lock<std::mutex> l(lock);
		ready.wait(l, [this] { return closed || !list.empty(); });
		if (list.empty())
			return nullptr;
		char *p = list.front();
		list.pop_front();
		return p;
	}

	void close()
	{
		{
			std::lock_guard<std::mutex> l(lock);
			closed = true;
		}
		ready.notify_all();
	}
};
static Queue *queues;

OUTLINE char *encode_frame(int size)
{
	char *p = static_cast<char *>(malloc(size));
	memset(p, 1, size);
	return p;
}

OUTLINE char *pack_order(int size)
{
	char *p = static_cast<char *>(malloc(size));
	memset(p, 2, size);
	return p;
}

struct Producer {
	const char *thread, *function;
	char *(*make)(int size);
};
static const Producer producers[] = {{"camera", "encode_frame", encode_frame}, {"shop", "pack_order", pack_order}};
static const char *const consumers[] = {"uploader", "archiver", "printer"};

// produce keeps most to itself; the chosen one sends large blocks to the chosen consumer.
static void produce(int number)
{
	name_thread(producers[number].thread);
	bool sends = number == chosen % 2;
	for (int i = 0; i < 3000; i++) {
		char *own = producers[number].make(300 + i % 50);
		used(own);
		free(own);
		if (sends && i % 2 == 0)
			queues[chosen % 3].put(producers[number].make(4000 + i % 100));
		else if (i % 100 == 0)
			queues[i / 100 % 3].put(producers[number].make(40));
		if (i % 50 == 0)
			rest(2);
	}
}

static void consume(int number)
{
	name_thread(consumers[number]);
	while (char *p = queues[number].take()) {
		used(p);
		free(p);
	}
}

static char *table; // the oldest block

OUTLINE void load_table()
{
	table = static_cast<char *>(malloc(5000));
	used(table);
}

OUTLINE void shut_down()
{
	free(table);
}

OUTLINE void drop_tables()
{
	free(table);
}

OUTLINE void reset_state()
{
	free(table);
}

static const struct {
	const char *name;
	void (*free)();
} ends[] = {{"shut_down", shut_down}, {"drop_tables", drop_tables}, {"reset_state", reset_state}};

static std::vector<std::string> cache;

// serve makes blocks that are younger, and live at the peak, too.
OUTLINE void serve()
{
	for (int i = 0; i < 400; i++) {
		cache.push_back(std::string(1000 + i, 'x'));
		if (i % 20 == 0)
			rest(5);
	}
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) : 0;
	load_table();
	queues = new Queue[3];
	rest(20);
	std::vector<std::thread> makers, takers;
	for (int i = 0; i < 3; i++)
		takers.emplace_back(consume, i);
	for (int i = 0; i < 2; i++)
		makers.emplace_back(produce, i);
	serve();
	for (auto &t : makers)
		t.join();
	for (int i = 0; i < 3; i++)
		queues[i].close();
	for (auto &t : takers)
		t.join();
	cache.clear();
	delete[] queues;
	rest(20);
	auto &end = ends[chosen % 3];
	end.free();
	auto &from = producers[chosen % 2];
	printf("freed %s %s %s\n", from.thread, consumers[chosen % 3], from.function);
	printf("oldest load_table %s\n", end.name);
}
