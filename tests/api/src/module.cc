// SPDX-License-Identifier: Apache-2.0
//
// module.cc: an executable and a library that both have the headers compiled in: module linked|preloaded|PLUGIN. The
// library, whose constructors run first, configures what the executable uses; each of them removes what the other one
// has registered.

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include <heaptap/compat/alloc_monitor.h>
#include <heaptap/compat/mallocProfiler.h>

#include "check.h"

using cms::perftools::AllocMonitorBase;
using cms::perftools::AllocMonitorRegistry;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{
struct counting : AllocMonitorBase {
	size_t allocations = 0;
	void allocCalled(size_t, size_t) override
	{
		allocations++;
	}
};
} // namespace

static AllocMonitorBase *make()
{
	return AllocMonitorRegistry::instance().createAndRegisterMonitor<counting>();
}

#ifdef LIBRARY

static bool unchanged(std::string &)
{
	return false;
}
static AllocMonitorBase *made;

static const struct configure {
	configure()
	{
		mallocProfiler::setThreshold(77);
		mallocProfiler::setRemangler(unchanged);
		mallocProfiler::noFinalDump();
		made = make();
		heaptap_pause();
		heaptap_resume();
	}
} configure;

EXPORT int library_failures();
EXPORT int library_failures()
{
	CHECK(heaptap::loaded(), ==, 1);
	CHECK(mallocProfiler::loaded(), ==, 1);
	CHECK(mallocProfiler::getThreshold(), ==, 78); // what the executable has set
	CHECK(mallocProfiler::summary(mallocProfiler::currentThread).ntot, ==, 1); // what it has allocated
	free(malloc(10));
	CHECK(mallocProfiler::summary(mallocProfiler::currentThread).ntot, ==, 2);
	return failures;
}
EXPORT AllocMonitorBase *library_monitor();
EXPORT AllocMonitorBase *library_monitor()
{
	return made;
}
EXPORT void library_remove(AllocMonitorBase *);
EXPORT void library_remove(AllocMonitorBase *monitor)
{
	AllocMonitorRegistry::instance().deregisterMonitor(monitor);
}

#else

static void *handle = RTLD_DEFAULT;

template <typename Function> static Function *of_library(const char *name)
{
	return reinterpret_cast<Function *>(dlsym(handle, name));
}

int main(int, char **argv)
{
	if (strcmp(argv[1], "linked") != 0 && strcmp(argv[1], "preloaded") != 0)
		handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!handle && strchr(argv[1], '/')) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	const auto library_failures = of_library<int()>("library_failures");
	const auto library_monitor = of_library<AllocMonitorBase *()>("library_monitor");
	const auto library_remove = of_library<void(AllocMonitorBase *)>("library_remove");
	CHECK(heaptap::loaded(), ==, 1);
	CHECK(mallocProfiler::loaded(), ==, 1);
	CHECK(mallocProfiler::getThreshold(), ==, 77);
	std::string name = "name";
	CHECK(mallocProfiler::getCurrentRemangler()(name), ==, 0);

	auto *theirs = static_cast<counting *>(library_monitor());
	AllocMonitorBase *ours = make();
	size_t before = theirs->allocations;
	free(malloc(10));
	CHECK(theirs->allocations, ==, before + 1);
	AllocMonitorRegistry::instance().deregisterMonitor(theirs);
	before = static_cast<counting *>(ours)->allocations;
	free(malloc(10));
	CHECK(static_cast<counting *>(ours)->allocations, ==, before + 1);
	library_remove(ours);

	mallocProfiler::setThreshold(78);
	mallocProfiler::clear();
	free(malloc(10));
	CHECK(library_failures(), ==, 0);
	CHECK(mallocProfiler::summary().ntot, ==, 2);
	if (handle != RTLD_DEFAULT) {
		dlclose(handle); // what is called of it stays
		free(malloc(10));
		CHECK(mallocProfiler::summary().ntot, ==, 3);
	}
	return failures != 0;
}

#endif
