// SPDX-License-Identifier: Apache-2.0
//
// profiler.cc: what programs that were written for MallocProfiler do: profiler numbers|off|threads|intervals|final

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include <heaptap/compat/mallocProfiler.h>

#include "check.h"

using namespace mallocProfiler;

// What the checks themselves allocate is not to count.
static std::string dumped(bool all = currentThread, SortBy by = SortBy::max)
{
	heaptap::hide hide;
	std::ostringstream out;
	dump(out, ' ', by, all);
	return out.str();
}

static int count(const std::string &text, std::string_view what)
{
	int n = 0;
	for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
		n++;
	return n;
}

static bool has(const std::string &text, std::string_view what)
{
	if (text.find(what) != std::string::npos)
		return true;
	std::cerr << "no \"" << what << "\" in\n" << text;
	return false;
}

__attribute__((noinline)) static void *small_block()
{
	return malloc(100);
}
__attribute__((noinline)) static void *large_block()
{
	return malloc(1000);
}
__attribute__((noinline)) static void *grown(void *p)
{
	return realloc(p, 3000);
}

static void numbers()
{
	setThreshold(0);
	clear();
	void *a = small_block(), *b = large_block();
	for (const Stat &s : {summary(), summary(currentThread)}) {
		CHECK(s.ntot, ==, 2);
		CHECK(s.mtot, ==, 1100); // requested
		CHECK(s.mlive, ==, 1100);
		CHECK(s.mmax, ==, 1100);
	}
	CHECK(memTotHistogram()[7], ==, 1); // 64 to 127
	CHECK(memTotHistogram()[10], ==, 1); // 512 to 1023
	free(a);
	CHECK(memTotHistogram()[7], ==, 1);
	CHECK(memLiveHistogram()[7], ==, 0);
	b = grown(b);
	CHECK(summary().mlive, ==, 3000);
	CHECK(summary().ntot, ==, 3);

	// A dump does not count itself, however often, and no other calls.
	for (int i = 0; i < 2; i++) {
		const std::string text = dumped();
		CHECK(count(text, "\n"), ==, 4);
		CHECK(has(text, ";main;numbers();small_block()  1 100 0 100\n"), ==, 1);
		CHECK(has(text, ";main;numbers();large_block()  1 1000 0 1000\n"), ==, 1);
		CHECK(has(text, ";main;numbers();grown(void*)  1 3000 3000 3000\n"), ==, 1);
		CHECK(has(text, "_mpTrace_;SmallAllocations  0 0 0 0\n"), ==, 1);
		CHECK(text.find("grown"), <, text.find("large_block"));
		CHECK(text.find("large_block"), <, text.find("small_block"));
		CHECK(summary().ntot, ==, 3);
	}
	noZeroLiveDump(true);
	CHECK(count(dumped(), "\n"), ==, 2);
	noZeroLiveDump(false);
	setRemangler([](std::string &name) { return name = name.substr(0, name.find('(')), name == "numbers"; });
	CHECK(has(dumped(), ";main;numbers  1 3000 3000 3000\n"), ==, 1);
	setRemangler(nullptr);

	std::ostringstream details;
	dumpDetails(details, "", currentThread);
	CHECK(has(details.str(), "Stat 1 3000 3000 3000 at\n#0 grown(void*) "), ==, 1);
	CHECK(has(details.str(), "profiler.cc:"), ==, 1);
	CHECK(count(details.str(), " numbers() "), ==, 3);
	CHECK(count(details.str(), " main "), ==, 0); // who asks is the last
	std::ostringstream from;
	dumpDetails(from, "large_block", currentThread);
	CHECK(count(from.str(), "\n"), ==, 2);
	CHECK(has(from.str(), "Stat 1 1000 0 1000 at\n#0 large_block() "), ==, 1);

	for (bool reverse : {false, true}) {
		clear();
		setThreshold(1000, reverse);
		void *p[] = {small_block(), large_block(), grown(nullptr)};
		const std::string text = dumped();
		CHECK(has(text, reverse ? ";small_block()  1 100 100 100\n" : ";grown(void*)  1 3000 3000 3000\n"), ==,
		      1);
		CHECK(has(text, ";large_block()  1 1000 1000 1000\n"), ==, 1);
		CHECK(has(text, reverse ? "_mpTrace_;LargeAllocations  1 3000 3000 3000\n"
					: "_mpTrace_;SmallAllocations  1 100 100 100\n"),
		      ==, 1);
		CHECK(count(text, "\n"), ==, 3);
		for (void *q : p)
			free(q);
	}
	setThreshold(0);

	clear();
	free(b); // is from before
	CHECK(summary().mlive, ==, 0);
	deactivate(currentThread);
	CHECK(active(currentThread), ==, 0);
	CHECK(active(), ==, 1);
	a = small_block();
	activate(currentThread);
	free(a);
	CHECK(summary().ntot, ==, 0);
	a = small_block();
	deactivate();
	free(a); // is taken off all the same
	free(small_block());
	activate();
	CHECK(summary().ntot, ==, 1);
	CHECK(summary().mlive, ==, 0);
	disable();
	free(small_block());
	CHECK(enabled(), ==, 0);
	enable();
	CHECK(summary().ntot, ==, 1);
	noFinalDump();
}

// Fills a hash map, while all is off before and behind.
__attribute__((noinline)) static void instrumented()
{
	setThreshold(0);
	enable();
	activate(currentThread);
	{
		std::unordered_map<int, double> map;
		for (int i = 0; i < 1000; i++)
			map[i * 10] = i;
		dumpDetails(std::cout, "", currentThread);
		dump(std::cout, ' ', SortBy::ncalls, currentThread);
		CHECK(summary(currentThread).ntot, ==, 1000 + 7); // see library.cc
		CHECK(summary(currentThread).mtot, ==, 1000 * 24 + 8 * (13 + 29 + 59 + 127 + 257 + 541 + 1109));
	}
	deactivate(currentThread);
	disable();
}

static void off()
{
	CHECK(enabled(), ==, 0);
	CHECK(active(currentThread), ==, 0);
	free(large_block());
	instrumented();
	free(large_block());
	CHECK(summary().ntot, ==, 1007);
	CHECK(heaptap::active(), ==, 0);
	std::cout.flush();
	std::quick_exit(failures != 0);
}

static void threads()
{
	setThreshold(0);
	clear();
	void *p = nullptr;
	std::thread([&] {
		p = large_block();
		CHECK(summary(currentThread).mtot, ==, 1000);
	}).join();
	std::thread([&] {
		CHECK(summary(currentThread).ntot, ==, 0); // not the ended one's
		free(p);
		free(small_block());
		CHECK(has(dumped(), "SmallAllocations  0 0 0 0\n"), ==, 1);
		CHECK(count(dumped(), "large_block"), ==, 0);
		clear(currentThread);
		CHECK(count(dumped(), "\n"), ==, 1);
	}).join();
	const std::string text = dumped(allThreads);
	CHECK(has(text, ";large_block()  1 1000 0 1000\n"), ==, 1);
	CHECK(count(text, ";small_block() "), ==, 0);
	std::vector<std::thread> many;
	clear();
	for (int i = 0; i < 8; i++)
		many.emplace_back([] {
			for (int k = 0; k < 1000; k++)
				free(k % 2 ? small_block() : large_block());
		});
	for (auto &t : many)
		t.join();
	CHECK(has(dumped(allThreads), ";large_block()  4000 4000000 0 1000\n"), ==, 1);
	CHECK(has(dumped(allThreads), ";small_block()  4000 400000 0 100\n"), ==, 1);
	noFinalDump();
}

static void intervals()
{
	using namespace std::chrono_literals;
	setThreshold(0);
	noFinalDump();
	setDumpingInterval(1s, 1s);
	void *kept = large_block();
	const std::string pid = std::to_string(getpid());
	for (const std::string &file : {"memstat_" + pid + ".mdr", "memdump_" + pid + "_1.mdr"})
		for (bool there = false; !there; std::this_thread::sleep_for(10ms)) {
			std::ifstream in(file);
			for (std::string line; std::getline(in, line);)
				there |= line.find(file[3] == 's' ? "MemLive Global Hist " : "Allocations $") !=
					 std::string::npos;
		}
	free(kept);
}

int main(int, char **argv)
{
	if (!loaded())
		return 3;
	const std::string what = argv[1];
	if (what == "numbers")
		numbers();
	else if (what == "off")
		off();
	else if (what == "threads")
		threads();
	else if (what == "intervals")
		intervals();
	else {
		setThreshold(0);
		clear();
		static void *kept = large_block();
		return kept == nullptr;
	}
	return failures != 0;
}
