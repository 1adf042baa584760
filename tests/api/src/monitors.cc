// SPDX-License-Identifier: Apache-2.0
//
// monitors.cc: monitors in all situations that may be awkward.

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <heaptap/heaptap.hpp>

#include "check.h"

static void load(std::atomic<bool> &stop)
{
	std::vector<void *> blocks(64);
	for (unsigned i = 0; !stop; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc(i % 500);
	}
	for (void *p : blocks)
		free(p);
}

// Registered and removed again and again, while threads allocate: what a monitor uses is destroyed at once.
struct canary : heaptap::monitor {
	std::atomic<int> alive{1234};
	static inline std::atomic<long> calls, dead;
	~canary() override
	{
		alive = 0;
	}
	void look()
	{
		calls++;
		if (alive != 1234)
			dead++;
	}
	void allocated(size_t, size_t, const void *) noexcept override
	{
		look();
	}
	void deallocated(size_t, const void *) noexcept override
	{
		look();
	}
};

static void under_load()
{
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] { load(stop); });
	for (int i = 0; i < 2000 || (canary::calls < 10000 && i < 10000000); i++) {
		auto &m = heaptap::registry::instance().add<canary>();
		if (i % 100 == 0)
			std::this_thread::yield();
		heaptap::registry::instance().remove(m);
	}
	// Several threads register and remove at the same time.
	std::vector<std::thread> movers;
	for (int i = 0; i < 2; i++)
		movers.emplace_back([] {
			for (int j = 0; j < 300; j++)
				heaptap::registry::instance().remove(heaptap::registry::instance().add<canary>());
		});
	for (auto &t : movers)
		t.join();
	stop = true;
	for (auto &t : threads)
		t.join();
	CHECK(canary::calls, >, 0);
	CHECK(canary::dead, ==, 0);
}

// What a callback allocates is not reported, thread_local objects that it makes included.
static long reported;

static void allocating(size_t, size_t, const void *, void *)
{
	thread_local std::vector<int> seen(100);
	reported++;
	free(malloc(10));
	errno = 5;
}

static void in_callbacks()
{
	const heaptap_monitor m = {allocating, nullptr, nullptr};
	const int number = heaptap_monitor_add(&m);
	heaptap::measure measure;
	reported = 0;
	errno = 77;
	void *p = malloc(100);
	CHECK(errno, ==, 77);
	CHECK(reported, ==, 1);
	CHECK(measure.read().allocations, ==, 1);
	free(p);
	std::thread([] {
		thread_local std::vector<int> own(1000);
		own[0] = 1;
	}).join();
	CHECK(reported, >=, 3); // the thread's state, and its vector
	reported = 0;
	free(malloc(10));
	CHECK(reported, ==, 1);
	{
		heaptap::hide h;
		free(malloc(10));
	}
	CHECK(reported, ==, 1);
	CHECK(heaptap_monitor_remove(number), ==, HEAPTAP_OK);
	free(malloc(10));
	CHECK(reported, ==, 1);
}

// One that removes itself and another one.
static int self, other, others;

static void removing(size_t, size_t, const void *, void *)
{
	CHECK(heaptap_monitor_remove(self), ==, HEAPTAP_RUNNING);
	CHECK(heaptap_monitor_remove(other), ==, HEAPTAP_RUNNING);
	CHECK(heaptap_monitor_remove(self), ==, HEAPTAP_INVALID);
	CHECK(heaptap_monitor_wait(), ==, HEAPTAP_RUNNING);
}
static void counting(size_t, size_t, const void *, void *)
{
	others++;
}

static void from_within()
{
	const heaptap_monitor a = {removing, nullptr, nullptr}, b = {counting, nullptr, nullptr};
	for (int i = 0; i < 100; i++) { // more often than there are places
		others = 0;
		CHECK(self = heaptap_monitor_add(&a), >, 0);
		CHECK(other = heaptap_monitor_add(&b), >, 0);
		free(malloc(10));
		free(malloc(10));
		CHECK(others, <=, 1);
	}
	CHECK(heaptap_monitor_wait(), ==, HEAPTAP_OK);
}

// Books by address come out even, whatever realloc does.
static std::atomic<long> live, blocks;

static void in(size_t, size_t usable, const void *, void *)
{
	live += (long)usable, blocks++;
}
static void out(size_t usable, const void *, void *)
{
	live -= (long)usable, blocks--;
}

static void books()
{
	const heaptap_monitor m = {in, out, nullptr};
	const int a = heaptap_monitor_add(&m), b = heaptap_monitor_add(&m);
	void *p = malloc(100), *volatile q;
	q = realloc(p, ~(size_t)0 / 4);
	CHECK(q == nullptr, ==, 1);
	CHECK(blocks, ==, 2); // both monitors
	p = realloc(p, 100000);
	CHECK(blocks, ==, 2);
	free(p);
	CHECK(blocks, ==, 0);
	CHECK(live, ==, 0);
	if (fork() == 0) {
		p = malloc(10);
		CHECK(blocks, ==, 2);
		CHECK(heaptap_monitor_remove(a), ==, HEAPTAP_OK);
		_exit(failures != 0);
	}
	int status;
	CHECK(wait(&status), >, 0);
	CHECK(status, ==, 0);
	CHECK(heaptap_monitor_remove(b), ==, HEAPTAP_OK);
	CHECK(heaptap_monitor_remove(a), ==, HEAPTAP_OK);
}

// The process forks within a callback.
static int told;

static void forking(size_t requested, size_t, const void *, void *)
{
	told++;
	if (requested != 4321)
		return;
	const pid_t child = fork();
	errno = 5;
	if (child == 0) {
		free(malloc(10));
		return; // and goes on, as the parent does
	}
	int status;
	waitpid(child, &status, 0);
	CHECK(status, ==, 0);
}

static void fork_within()
{
	const heaptap_monitor m = {forking, nullptr, nullptr};
	const pid_t parent = getpid();
	const int number = heaptap_monitor_add(&m);
	errno = 77;
	void *volatile p = malloc(4321);
	CHECK(errno, ==, 77);
	free(p);
	p = malloc(10);
	CHECK(told, ==, 2);
	free(p);
	alarm(20);
	std::thread([number] {
		CHECK(heaptap_monitor_remove(number), ==, HEAPTAP_OK);
	}).join(); // waits for none of ours
	alarm(0);
	if (getpid() != parent)
		_exit(failures != 0);
}

// Threads end within a callback; others get what the agent kept for them.
static void ending(size_t requested, size_t, const void *, void *)
{
	if (requested == 4321)
		pthread_exit(nullptr);
}

static void *end_in_callback(void *)
{
	free(malloc(4321));
	return nullptr;
}

static void end_within()
{
	const heaptap_monitor m = {ending, nullptr, nullptr};
	const int number = heaptap_monitor_add(&m);
	for (int i = 0; i < 4; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, nullptr, end_in_callback, nullptr), ==, 0);
		pthread_join(thread, nullptr);
	}
	std::atomic<bool> stop{false};
	std::atomic<int> begun{0};
	std::vector<std::thread> others;
	for (int i = 0; i < 8; i++)
		others.emplace_back([&] {
			free(malloc(10));
			begun++;
			while (!stop)
				usleep(1000);
		});
	while (begun < 8)
		usleep(1000);
	alarm(20);
	CHECK(heaptap_monitor_remove(number), ==, HEAPTAP_OK);
	alarm(0);
	stop = true;
	for (std::thread &t : others)
		t.join();
}

int main()
{
	fork_within(); // first: a child's first thread gets what the agent kept for it as it forked
	in_callbacks();
	from_within();
	books();
	end_within();
	under_load();
	return failures != 0;
}
