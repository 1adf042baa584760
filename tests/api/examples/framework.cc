// SPDX-License-Identifier: Apache-2.0
//
// framework.cc: a framework that runs modules on events, on two threads: a region for each event and module, so that
// the recording can be asked by them, and a line with what each call of a module did.

#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <heaptap/heaptap.hpp>

struct module {
	const char *name;
	std::function<void(int event)> process;
};

static std::vector<module> modules()
{
	static thread_local std::vector<std::vector<char>> cache;
	return {
		{"unpack", [](int event) { std::vector<int> hits(1000 + static_cast<std::size_t>(event)); }},
		{"cache", [](int) { cache.emplace_back(100); }}, // grows from event to event
	};
}

static void run(int first, int step)
{
	const std::vector<module> all = modules();
	heaptap_thread_name(("worker " + std::to_string(first)).c_str());
	for (int event = first; event < 4; event += step) {
		heaptap::region region("event", {event});
		for (std::size_t i = 0; i < all.size(); i++) {
			heaptap::region inner(all[i].name, {event, static_cast<std::int64_t>(i)});
			heaptap::measure measure;
			all[i].process(event);
			const heaptap::measured m = measure.read();
			heaptap::hide hide; // printing is not measured
			printf("event %d %s: %lu allocations, added %ld, peak %ld\n", event, all[i].name, m.allocations,
			       m.added, m.highest);
		}
	}
}

int main()
{
	{
		heaptap::pause setup; // what the framework itself needs is not of interest
		modules();
	}
	heaptap_mark("events begin");
	std::thread other(run, 1, 2);
	run(0, 2);
	other.join();
	heaptap_mark("events end");
}
