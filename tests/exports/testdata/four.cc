// Four threads: one makes strings that another one frees, one grows vectors, one builds maps and keeps some blocks.
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::deque<std::string *> queue;
static std::vector<char *> kept;

__attribute__((noinline)) static void produce(int n)
{
	for (int i = 0; i < n; i++) {
		auto *s = new std::string(20 + i % 300, 'x');
		std::lock_guard<std::mutex> guard(lock);
		queue.push_back(s);
	}
}

__attribute__((noinline)) static void consume(int n)
{
	while (n > 0) {
		std::string *s = nullptr;
		{
			std::lock_guard<std::mutex> guard(lock);
			if (!queue.empty()) {
				s = queue.front();
				queue.pop_front();
			}
		}
		if (s == nullptr) {
			std::this_thread::yield();
			continue;
		}
		delete s;
		n--;
	}
}

__attribute__((noinline)) static void grow(int n)
{
	for (int i = 0; i < n; i++) {
		std::vector<int> v;
		for (int k = 0; k < 200; k++)
			v.push_back(k);
	}
}

template <class T> __attribute__((noinline)) static void build(T n)
{
	for (T k = 0; k < n; k++) {
		std::map<int, std::string> names;
		for (int i = 0; i < 50; i++)
			names[i] = std::string(i + 10, 'a');
		if (k % 10 == 0)
			kept.push_back(new char[k + 1]);
	}
}

int main()
{
	std::thread a(produce, 4000), b(consume, 4000), c(grow, 300), d(build<int>, 100);
	a.join();
	b.join();
	c.join();
	d.join();
	return 0;
}
