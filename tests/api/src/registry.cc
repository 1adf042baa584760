// SPDX-License-Identifier: Apache-2.0
//
// registry.cc: the C++ registry under ThreadSanitizer, which does not bear an agent: this program plays the agent
// itself, and is found by its own header. With OLD_AGENT set in the environment, one that is older than the header.

#include <atomic>
#include <cstdlib>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <heaptap/heaptap.hpp>

#include "check.h"

static std::shared_mutex monitors_lock;
static heaptap_monitor monitors[HEAPTAP_MONITORS];

static int add(const heaptap_monitor *m, size_t)
{
	std::lock_guard<std::shared_mutex> lock(monitors_lock);
	for (int i = 0; i < HEAPTAP_MONITORS; i++)
		if (!monitors[i].allocated) {
			monitors[i] = *m;
			return i + 1;
		}
	return HEAPTAP_FULL;
}

static int remove(int number)
{
	std::lock_guard<std::shared_mutex> lock(monitors_lock);
	if (number > 0)
		monitors[number - 1] = heaptap_monitor();
	return HEAPTAP_OK;
}

static void nothing()
{
}

static void *shared(const char *, size_t size)
{
	static char memory[4096] __attribute__((aligned(64)));
	return size <= sizeof(memory) ? memory : nullptr;
}

extern "C" __attribute__((visibility("default"))) const heaptap_api *heaptap_api(size_t size)
{
	static struct heaptap_api table;
	table.size = sizeof(table);
	table.version = HEAPTAP_VERSION;
	table.monitor_add = add;
	table.monitor_remove = remove;
	table.shared = shared;
	table.hide = table.unhide = nothing;
	return size <= sizeof(table) - (getenv("OLD_AGENT") ? 8 : 0) ? &table : nullptr;
}

struct counting : heaptap::monitor {
	std::atomic<long> calls{0};
	long alive = 1234; // not atomic: destroying it while it is called is a race
	~counting() override
	{
		alive = 0;
	}
	void allocated(size_t, size_t, const void *) noexcept override
	{
		calls += alive == 1234;
	}
	void deallocated(size_t, const void *) noexcept override
	{
	}
};

static void call_all(const std::atomic<bool> &stop)
{
	while (!stop) {
		std::shared_lock<std::shared_mutex> lock(monitors_lock);
		for (const heaptap_monitor &m : monitors)
			if (m.allocated)
				m.allocated(1, 8, &m, m.user);
	}
}

int main()
{
	auto &registry = heaptap::registry::instance();
	if (getenv("OLD_AGENT")) {
		CHECK(heaptap_loaded(), ==, 0);
		try {
			registry.add<counting>();
			CHECK(0, ==, 1);
		} catch (const std::runtime_error &) {
		}
		return failures != 0;
	}
	CHECK(heaptap_loaded(), ==, 1);
	std::atomic<bool> stop{false};
	std::vector<std::thread> callers, movers;
	for (int i = 0; i < 2; i++)
		callers.emplace_back([&] { call_all(stop); });
	for (int i = 0; i < 3; i++)
		movers.emplace_back([&] {
			for (int j = 0; j < 200; j++) {
				counting &m = registry.add<counting>();
				std::this_thread::yield();
				registry.remove(m);
			}
		});
	for (auto &t : movers)
		t.join();
	counting &kept = registry.add<counting>();
	while (!kept.calls)
		std::this_thread::yield();
	stop = true;
	for (auto &t : callers)
		t.join();
	try {
		registry.remove(counting());
		CHECK(0, ==, 1);
	} catch (const std::invalid_argument &) {
	}
	for (int i = 1; i < HEAPTAP_MONITORS; i++)
		registry.add<counting>();
	try {
		registry.add<counting>();
		CHECK(0, ==, 1);
	} catch (const std::runtime_error &) {
	}
	return failures != 0;
}
