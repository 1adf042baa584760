// A server that answers requests of several kinds from two threads, and forgets one session in ten.
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Session {
	std::string user;
	std::vector<int> pages;
};

static volatile long shown;

__attribute__((noinline)) std::string render(const Session &s)
{
	std::string text = "<p>Hello " + s.user;
	for (int page : s.pages)
		text += "<a href=/" + std::to_string(page) + ">";
	return text;
}

__attribute__((noinline)) Session *login(int request)
{
	return new Session{"user number " + std::to_string(request), std::vector<int>(100, request)};
}

__attribute__((noinline)) void handle(int request)
{
	Session *s = login(request);
	shown = shown + (long)render(*s).size();
	if (request % 10 == 9)
		s = nullptr; // the leak
	delete s;
}

__attribute__((noinline)) void report()
{
	std::map<int, std::string> table;
	for (int i = 0; i < 2000; i++)
		table[i] = std::string(60, 'x');
	std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

int main()
{
	std::thread reporter([] {
		for (int i = 0; i < 5; i++)
			report();
	});
	for (int request = 0; request < 2000; request++) {
		handle(request);
		if (request % 10 == 0)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	reporter.join();
	return 0;
}
