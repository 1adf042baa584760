// SPDX-License-Identifier: Apache-2.0
//
// measures.cc: measures of several threads, nested, through exceptions, forks and signal handlers.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <malloc.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <heaptap/heaptap.hpp>

#include "check.h"

static void blocks(int n, size_t size)
{
	for (int i = 0; i < n; i++)
		free(malloc(size));
}

static void nested()
{
	heaptap::measure outer;
	blocks(2, 100);
	{
		heaptap::measure inner;
		blocks(3, 5000);
		CHECK(inner.read().allocations, ==, 3);
		CHECK(outer.read().allocations, ==, 5);
		CHECK(outer.read().largest, ==, 5000);
	}
	CHECK(outer.read().allocations, ==, 5);
	CHECK(outer.read().highest, ==, 5000);
	void *kept;
	{
		heaptap::measure inner(HEAPTAP_EXCLUSIVE);
		kept = malloc(70000);
		heaptap::measure innermost;
		blocks(1, 90000);
		CHECK(innermost.read().allocations, ==, 1);
		CHECK(inner.read().allocations, ==, 2);
		CHECK(outer.read().allocations, ==, 5);
		CHECK(outer.read().highest, ==, 5000);
	}
	CHECK(outer.read().allocations, ==, 5);
	CHECK(outer.read().largest, ==, 5000);
	CHECK(outer.read().added, ==, 0);
	const long usable = (long)malloc_usable_size(kept);
	free(kept); // of which the outer one only sees this
	CHECK(outer.read().added, ==, -usable);
	CHECK(outer.read().lowest, ==, -usable);
	CHECK(outer.read().deallocations, ==, 6);
	try {
		heaptap::measure inner;
		throw std::runtime_error("through a measure");
	} catch (const std::exception &) {
	}
	blocks(1, 10);
	CHECK(outer.read().deallocations, >=, 8);
}

static void many_threads()
{
	constexpr int count = 4, each = 20000;
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, nullptr, count + 1);
	std::vector<std::thread> threads;
	for (int i = 0; i < count; i++)
		threads.emplace_back([&] {
			pthread_barrier_wait(&barrier);
			{
				heaptap::measure mine;
				blocks(each, 1000);
				CHECK(mine.read().allocations, ==, each);
				CHECK(mine.read().requested, ==, each * 1000);
				CHECK(mine.read().highest, ==, 1000);
			}
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
		});
	heaptap::measure all(HEAPTAP_PROCESS), late(HEAPTAP_PROCESS);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	const heaptap::measured m = all.read();
	CHECK(m.allocations, ==, count * each);
	CHECK(m.deallocations, ==, count * each);
	CHECK(m.requested, ==, count * each * 1000);
	CHECK(m.added, ==, 0);
	CHECK(m.highest, <=, count * 1000 + 64);
	CHECK(m.highest, >=, 1000);
	pthread_barrier_wait(&barrier);
	for (auto &t : threads)
		t.join();
	// Threads that have ended still count.
	heaptap::measure again(HEAPTAP_PROCESS);
	for (int i = 0; i < 50; i++)
		std::thread([] { blocks(100, 10); }).join();
	CHECK(again.read().allocations, >=, 50 * 100);
	CHECK(again.read().deallocations, >=, 50 * 100);
}

static volatile sig_atomic_t handled;

static void handler(int)
{
	handled = handled + 1;
	free(malloc(50));
}

static void signals()
{
	const itimerval often = {{0, 200}, {0, 200}}, never = {};
	signal(SIGALRM, handler);
	heaptap::measure m;
	setitimer(ITIMER_REAL, &often, nullptr);
	blocks(300000, 100);
	setitimer(ITIMER_REAL, &never, nullptr);
	CHECK(handled, >, 0);
	CHECK(m.read().allocations, ==, 300000 + handled);
	CHECK(m.read().deallocations, ==, 300000 + handled);
	CHECK(m.read().requested, ==, 300000 * 100 + 50 * handled);
	CHECK(m.read().added, ==, 0);
}

static void forks()
{
	std::atomic<int> step{0};
	std::thread other([&] { // is not in the child, nor are its measures
		heaptap::measure theirs, inner;
		for (step = 1; step == 1;)
			std::this_thread::yield();
	});
	while (step == 0)
		std::this_thread::yield();
	heaptap::measure m, all(HEAPTAP_PROCESS);
	blocks(3, 10);
	if (fork() == 0) {
		blocks(4, 10);
		CHECK(m.read().allocations, ==, 7);
		CHECK(all.read().allocations, ==, 7);
		std::thread([] { blocks(5, 10); }).join();
		CHECK(all.read().allocations, >=, 12);
		std::vector<std::thread> more;
		for (int i = 0; i < 20; i++)
			more.emplace_back([] { blocks(1, 10); });
		for (auto &t : more)
			t.join();
		const auto before = m.read().allocations;
		blocks(6, 10);
		CHECK(m.read().allocations, ==, before + 6);
		_exit(failures != 0);
	}
	int status;
	CHECK(wait(&status), >, 0);
	CHECK(status, ==, 0);
	CHECK(m.read().allocations, ==, 3);
	step = 2;
	other.join();
}

// Whatever is recorded.
static void stopped()
{
	heaptap::measure m;
	heaptap_stop();
	blocks(5, 10);
	heaptap_start();
	{
		heaptap::pause p;
		blocks(5, 10);
	}
	CHECK(m.read().allocations, ==, 10);
}

int main()
{
	nested();
	many_threads();
	signals();
	forks();
	stopped();
	return failures != 0;
}
