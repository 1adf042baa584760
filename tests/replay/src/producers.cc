// Four threads make messages, each of which another thread reads and frees. Who makes them waits where many are
// waiting, so that the memory needed hardly depends on when which thread runs.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Message {
	std::string name;
	std::vector<std::string> parts;
};

struct Queue {
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::vector<Message *>> batches;

	void put(std::vector<Message *> batch)
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [this] { return batches.size() < 20; });
		batches.push_back(std::move(batch));
		changed.notify_one();
	}

	std::vector<Message *> take()
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [this] { return !batches.empty(); });
		auto batch = std::move(batches.front());
		batches.pop_front();
		changed.notify_one();
		return batch;
	}
};

static void produce(Queue &queue, unsigned random, int batches)
{
	for (int i = 0; i < batches; i++) {
		std::vector<Message *> batch;
		for (int k = 0; k < 100; k++) {
			auto *m = new Message{"message " + std::to_string(i * 100 + k) + " of a producer", {}};
			random = random * 1103515245 + 12345;
			for (unsigned n = 1 + (random >> 16) % 12; n > 0; n--) {
				random = random * 1103515245 + 12345;
				m->parts.emplace_back(20 + (random >> 16) % 400, 'x');
			}
			batch.push_back(m);
		}
		queue.put(std::move(batch));
	}
	queue.put({});
}

static void consume(Queue &queue, size_t &bytes)
{
	for (;;) {
		auto batch = queue.take();
		if (batch.empty())
			return;
		for (auto *m : batch) {
			for (auto &part : m->parts)
				bytes += part.size();
			delete m;
		}
	}
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 400;
	static Queue queues[4];
	size_t bytes[4] = {};
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 4; i++) {
		threads.emplace_back(produce, std::ref(queues[i]), i + 1, batches);
		threads.emplace_back(consume, std::ref(queues[i]), std::ref(bytes[i]));
	}
	for (auto &t : threads)
		t.join();
	printf("%zu bytes\n", bytes[0] + bytes[1] + bytes[2] + bytes[3]);
}
