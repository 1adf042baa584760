// SPDX-License-Identifier: Apache-2.0
//
// compat.cc: programs written for other tools: compat loaded|absent

#include <cstring>
#include <stdexcept>

#include <dlfcn.h>

#include <heaptap/compat/alloc_monitor.h>

#include "check.h"

class counting : public cms::perftools::AllocMonitorBase
{
      public:
	explicit counting(int *gone) : gone_(gone)
	{
	}
	~counting() override
	{
		++*gone_;
	}
	void allocCalled(size_t requested, size_t actual, const void *address) override
	{
		free(malloc(10)); // is not reported
		allocations++;
		bytes += requested;
		CHECK(actual, >=, requested);
		CHECK(address != nullptr, ==, 1);
	}
	void deallocCalled(size_t actual, const void *) override
	{
		deallocations++;
		freed += actual;
	}
	size_t allocations = 0, deallocations = 0, bytes = 0, freed = 0;

      private:
	int *gone_;
};

static void alloc_monitor(bool loaded)
{
	using cms::perftools::AllocMonitorRegistry;
	int gone = 0;
	CHECK(AllocMonitorRegistry::necessaryLibraryWasPreloaded(), ==, loaded);
	if (!loaded) {
		try {
			AllocMonitorRegistry::instance().createAndRegisterMonitor<counting>(&gone);
			CHECK(0, ==, 1);
		} catch (const std::runtime_error &) {
		}
		return;
	}
	auto *m = AllocMonitorRegistry::instance().createAndRegisterMonitor<counting>(&gone);
	CHECK(m->allocations, ==, 0);
	void *p = malloc(100);
	const size_t usable = malloc_usable_size(p);
	free(p);
	CHECK(m->allocations, ==, 1);
	CHECK(m->bytes, ==, 100);
	CHECK(m->deallocations, ==, 1);
	CHECK(m->freed, ==, usable);
	CHECK(alloc_monitor_stop_thread_reporting(), ==, 1);
	CHECK(alloc_monitor_stop_thread_reporting(), ==, 0);
	free(malloc(100));
	alloc_monitor_start_thread_reporting();
	CHECK(m->allocations, ==, 1);
	free(malloc(100));
	CHECK(m->allocations, ==, 2);
	AllocMonitorRegistry::instance().deregisterMonitor(m);
	CHECK(gone, ==, 1);
	AllocMonitorRegistry::instance().deregisterMonitor(m);
	CHECK(gone, ==, 1);
}

// The same by those functions that a library which knows no header of ours looks up.
template <typename Function> static Function *named(const char *name)
{
	return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

static void looked_up(bool loaded)
{
	const auto start = named<void()>("alloc_monitor_start"), stop = named<void()>("alloc_monitor_stop");
	const auto stop_thread = named<bool()>("alloc_monitor_stop_thread_reporting");
	const auto start_thread = named<void()>("alloc_monitor_start_thread_reporting");
	const auto enable = named<void()>("malt_enable"), disable = named<void()>("malt_disable");
	CHECK(start && stop && stop_thread && start_thread && enable && disable, ==, loaded);
	CHECK(named<void()>("maltEnable") && named<void()>("maltDisable"), ==, loaded);
	if (!loaded)
		return;
	int gone = 0;
	auto *m = cms::perftools::AllocMonitorRegistry::instance().createAndRegisterMonitor<counting>(&gone);
	CHECK(stop_thread(), ==, 1);
	CHECK(alloc_monitor_stop_thread_reporting(), ==, 0);
	free(malloc(100));
	start_thread();
	CHECK(m->allocations, ==, 0);
	stop();
	free(malloc(100));
	CHECK(m->allocations, ==, 0);
	alloc_monitor_start();
	free(malloc(100));
	CHECK(m->allocations, ==, 1);
	cms::perftools::AllocMonitorRegistry::instance().deregisterMonitor(m);
	disable();
	disable();
	CHECK(heaptap_active(), ==, 0);
	enable();
	CHECK(heaptap_active(), ==, 1);
}

// The form without addresses, and what it has seen when it is destroyed: at the end of the program, when nothing but
// the registry is left.
static size_t taken, given;
class plain : public cms::perftools::AllocMonitorBase
{
      public:
	~plain() override
	{
		CHECK(taken, ==, 3);
		CHECK(requested_, ==, 60);
		CHECK(given, ==, 2);
		if (failures)
			_exit(1);
	}
	void allocCalled(size_t requested, size_t) final
	{
		taken++;
		requested_ += requested;
	}
	void deallocCalled(size_t) final
	{
		given++;
	}

      private:
	size_t requested_ = 0;
};

// A measure's largest allocation is told as the monitors' is: in requested bytes.
static void largest(bool loaded)
{
	const heaptap::measured m = heaptap::measure_of([] { free(malloc(1001)); });
	CHECK(m.largest, ==, loaded ? 1001 : 0);
	CHECK(m.largest, <=, m.requested);
}

int main(int argc, char **argv)
{
	const bool loaded = argc > 1 && strcmp(argv[1], "loaded") == 0;
	alloc_monitor(loaded);
	looked_up(loaded);
	largest(loaded);
	if (loaded) {
		cms::perftools::AllocMonitorRegistry::instance().createAndRegisterMonitor<plain>();
		free(malloc(10));
		free(malloc(20));
		static void *kept = malloc(30);
		(void)kept;
	}
	return failures != 0;
}
