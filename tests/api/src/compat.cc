// SPDX-License-Identifier: Apache-2.0
//
// compat.cc: programs written for other tools: compat loaded|absent

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <heaptap/compat/alloc_monitor.h>
#include <heaptap/compat/mallocProfiler.h>

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

static void malloc_profiler(bool loaded)
{
	using namespace mallocProfiler;
	CHECK(mallocProfiler::loaded(), ==, loaded);
	CHECK(enabled(), ==, loaded);
	CHECK(active(), ==, loaded);
	clear();
	clear(currentThread);
	void *p = malloc(1000), *q = malloc(30);
	const long long usable = (long long)malloc_usable_size(p), other = (long long)malloc_usable_size(q);
	free(q);
	for (const Stat &s : {summary(), summary(currentThread)}) {
		CHECK(s.ntot, ==, loaded ? 2 : 0);
		CHECK(s.mtot, ==, loaded ? usable + other : 0);
		CHECK(s.mlive, ==, loaded ? usable : 0);
		CHECK(s.mmax, ==, loaded ? usable + other : 0);
	}
	CHECK(memTotHistogram()[5], ==, loaded); // 32 to 63 bytes
	CHECK(memLiveHistogram()[5], ==, 0);
	CHECK(memLiveHistogram()[9], ==, loaded);
	std::ostringstream out;
	out << std::string(1000, ' '); // room
	dump(out, '|', SortBy::max, allThreads);
	if (loaded) {
		CHECK(out.str().find("_mpTrace_;") != std::string::npos, ==, 1);
		CHECK(out.str().find(";main;malloc_profiler(bool) |1|1000|1000|") != std::string::npos, ==, 1);
		noZeroLiveDump(true);
		setRemangler([](std::string &name) { return name = "f", true; });
		std::ostringstream mine;
		dump(mine, '$', SortBy::live, currentThread);
		CHECK(mine.str().find(";f;f $1$1000$1000$") != std::string::npos, ==, 1);
		CHECK(mine.str().find("$1$30$") == std::string::npos, ==, 1); // is not live
		setRemangler(nullptr);
		noZeroLiveDump(false);
		for (bool reverse : {false, true}) { // one of the two is small
			setThreshold(100, reverse);
			std::ostringstream some;
			dump(some);
			const char *const kept = reverse ? ";malloc_profiler(bool) $1$30$0$30\n"
							 : ";malloc_profiler(bool) $1$1000$1000$1000\n";
			const char *const left =
				reverse ? ";malloc_profiler(bool) $1$1000$" : ";malloc_profiler(bool) $1$30$";
			CHECK(some.str().find(kept) != std::string::npos, ==, 1);
			CHECK(some.str().find(left) == std::string::npos, ==, 1);
			CHECK(some.str().find("_mpTrace_;SmallAllocations $") != std::string::npos, ==, 1);
		}
		setThreshold(1000);
		std::ostringstream details;
		dumpDetails(details, "malloc_profiler");
		CHECK(details.str().find("1 1000 1000 1000\nmalloc_profiler(bool)\t") != std::string::npos, ==, 1);
		CHECK(details.str().find("compat.cc:") != std::string::npos, ==, 1);
		CHECK(details.str().find("\nmain") == std::string::npos, ==, 1);
	} else {
		CHECK(out.str().find("_mpTrace_;SmallAllocations |0|0|0|0\n") != std::string::npos, ==, 1);
	}
	clear();
	clear(currentThread);
	deactivate(currentThread);
	CHECK(active(currentThread), ==, 0);
	free(malloc(10));
	activate(currentThread);
	deactivate();
	free(malloc(10));
	activate();
	disable();
	free(malloc(10));
	CHECK(enabled(), ==, 0);
	enable();
	CHECK(summary(currentThread).ntot, <=, loaded ? 2 : 0); // str(), which was not hidden
	setThreshold(100);
	CHECK(getThreshold(), ==, 100);
	free(p);
}

int main(int argc, char **argv)
{
	const bool loaded = argc > 1 && strcmp(argv[1], "loaded") == 0;
	alloc_monitor(loaded);
	malloc_profiler(loaded);
	return failures != 0;
}
