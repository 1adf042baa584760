// SPDX-License-Identifier: Apache-2.0
//
// mallocProfiler.h: the functions of MallocProfiler's namespace on top of heaptap, for programs that were written for
// MallocProfiler. C++17; with glibc before 2.34, link with -pthread.
//
// The numbers are MallocProfiler's: requested bytes that active threads allocated since the start, or since clear. A
// deallocation is subtracted from the thread that had allocated the block. The numbers exist once in the process,
// however many of its modules include this header. Call stacks come from the recording, and the recorder names them. If
// no recorder answers within a minute, dump prints one line, and dumpDetails nothing.
//
// Differences: a realloc is a deallocation and an allocation; dump sorts in the requested order, the largest first;
// names are shortened only by a remangler. setDumpingInterval starts the threads that print at intervals; setVerbose
// does nothing. A library that includes this header is never unloaded. Without the agent, loaded() is false and all
// numbers are 0.
#ifndef HEAPTAP_COMPAT_MALLOC_PROFILER_H
#define HEAPTAP_COMPAT_MALLOC_PROFILER_H

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../heaptap.hpp"

namespace mallocProfiler
{

enum class SortBy { none, tot, live, max, ncalls };

struct Stat {
	double mtot = 0; // bytes that were allocated
	std::uint64_t mlive = 0; // bytes that are live
	std::uint64_t mmax = 0; // the most bytes that were live
	std::uint64_t ntot = 0; // allocations

	void add(std::size_t size)
	{
		mtot += static_cast<double>(size);
		mlive += size;
		mmax = std::max(mmax, mlive);
		ntot++;
	}
	void sub(std::size_t size)
	{
		mlive -= size;
	}
	void merge(const Stat &other)
	{
		mtot += other.mtot;
		mlive += other.mlive;
		mmax = std::max(mmax, other.mmax);
		ntot += other.ntot;
	}
};

using Hist = std::array<std::uint64_t, 64>; // element i: of 2^(i-1) to 2^i - 1 bytes
using remangleType = bool (*)(std::string &name); // may shorten a name; true: leave out its callees

constexpr bool allThreads = true;
constexpr bool currentThread = false;

namespace detail
{

// ---------------------------------------------------------------------------------------------------------------------
// State of the process: plain data, in memory that is not allocated with malloc

using std::uint32_t;
using std::uint64_t;

inline void *map(std::size_t size)
{
	// Not with mmap, which would be recorded as the program's.
	const long p = syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == -1 ? nullptr : reinterpret_cast<void *>(p);
}

// A hash table whose keys are above 0. A table with all bytes 0 is empty.
template <typename Value> struct table {
	struct element {
		uint64_t key; // 0: free
		Value value;
	};
	element *elements;
	uint64_t size, used; // size is a power of two

	static uint64_t hash(uint64_t key)
	{
		key *= 0x9e3779b97f4a7c15;
		return key ^ key >> 32;
	}
	// Returns where the key is, or belongs.
	element *place(uint64_t key) const
	{
		uint64_t i = hash(key) & (size - 1);
		while (elements[i].key && elements[i].key != key)
			i = (i + 1) & (size - 1);
		return &elements[i];
	}
	Value *find(uint64_t key) const
	{
		element *e = size ? place(key) : nullptr;
		return e && e->key ? &e->value : nullptr;
	}
	// Null if there is no memory.
	Value *get(uint64_t key)
	{
		if (used * 4 >= size * 3 && !grow())
			return nullptr;
		element *e = place(key);
		if (!e->key) {
			e->key = key;
			e->value = Value();
			used++;
		}
		return &e->value;
	}
	bool grow()
	{
		table larger = {nullptr, size ? 2 * size : 256, used};
		larger.elements = static_cast<element *>(map(larger.size * sizeof(element)));
		if (!larger.elements)
			return false;
		each([&](uint64_t key, Value &v) {
			element *e = larger.place(key);
			e->key = key;
			e->value = v;
		});
		drop();
		*this = larger;
		return true;
	}
	void erase(uint64_t key)
	{
		element *hole = size ? place(key) : nullptr;
		if (!hole || !hole->key)
			return;
		used--;
		// Move up the elements that would not be found any more.
		for (uint64_t i = static_cast<uint64_t>(hole - elements);;) {
			i = (i + 1) & (size - 1);
			element *e = &elements[i];
			if (!e->key)
				break;
			const uint64_t from_home = (i - hash(e->key)) & (size - 1);
			if (from_home < ((i - static_cast<uint64_t>(hole - elements)) & (size - 1)))
				continue;
			*hole = *e;
			hole = e;
		}
		hole->key = 0;
	}
	template <typename Function> void each(Function function) const
	{
		for (uint64_t i = 0; i < size; i++)
			if (elements[i].key)
				function(elements[i].key, elements[i].value);
	}
	void drop()
	{
		if (elements)
			syscall(SYS_munmap, elements, size * sizeof(element));
		elements = nullptr;
		size = used = 0;
	}
};

struct block {
	uint64_t size, site; // site: heaptap_thread << 32 | heaptap_stack
	bool small; // below the threshold: without a line of its own
};

struct thread_state {
	uint32_t epoch; // epoch in which the thread was switched by itself; in later ones it is as all are
	bool active;
	Stat sum, small;
};

struct state {
	std::atomic<uint32_t> begun; // 0, 1 while it is being made, 2
	std::atomic<uint32_t> *held; // lock of what follows: not 0 while it is held. In a forked child, it is free
	std::atomic<uint32_t> enabled; // everything
	std::atomic<uint32_t> active, epoch; // of threads not switched by themselves; how often all were switched
	std::atomic<uint32_t> started; // we started the recording, because it was off
	std::atomic<uint64_t> threshold;
	std::atomic<uint32_t> reverse, no_final_dump, no_zero_live, dumping;
	std::atomic<remangleType> remangler;
	std::atomic<std::int64_t> summary_lap, dump_lap; // seconds
	Stat all;
	Hist total_by_size, live_by_size;
	table<block> blocks; // by address
	table<Stat> sites;
	table<thread_state> threads; // by heaptap_thread

	// Null if there is no memory.
	thread_state *mine()
	{
		return threads.get(heaptap_thread());
	}
	bool is_active(const thread_state &t) const
	{
		return t.epoch == epoch ? t.active : active != 0;
	}
};

// Held only for a few instructions, during which the thread is hidden from monitors. So neither a signal handler nor an
// allocation finds the lock held by its own thread.
class lock
{
      public:
	explicit lock(const state *s) : held_(*s->held)
	{
		while (held_.exchange(1, std::memory_order_acquire))
			sched_yield();
	}
	~lock()
	{
		held_.store(0, std::memory_order_release);
	}
	lock(const lock &) = delete;
	lock &operator=(const lock &) = delete;

      private:
	heaptap::hide hide_;
	std::atomic<uint32_t> &held_;
};

inline std::size_t class_of(std::size_t bytes)
{
	return bytes ? std::min<std::size_t>(63, 64 - static_cast<std::size_t>(__builtin_clzl(bytes))) : 0;
}

inline void forget(state *s, uint64_t address)
{
	const block *b = s->blocks.find(address);
	if (!b)
		return;
	thread_state *t = s->threads.find(b->site >> 32);
	Stat *site = b->small ? &t->small : s->sites.find(b->site);
	t->sum.sub(b->size);
	site->sub(b->size);
	s->all.sub(b->size);
	s->live_by_size[class_of(b->size)]--;
	s->blocks.erase(address);
}

inline void allocated(std::size_t size, std::size_t, const void *address, void *user)
{
	auto *s = static_cast<state *>(user);
	if (!s->enabled.load(std::memory_order_relaxed))
		return;
	const lock l(s);
	const auto key = reinterpret_cast<uint64_t>(address);
	thread_state *t = s->mine();
	forget(s, key); // the block there ended unseen
	if (!t || !s->is_active(*t))
		return;
	const uint64_t threshold = s->threshold, site = heaptap_thread() << 32 | heaptap_stack(address);
	const bool small = s->reverse ? size > threshold : size < threshold;
	Stat *sum = small ? &t->small : s->sites.get(site);
	block *b = sum ? s->blocks.get(key) : nullptr;
	if (!b)
		return;
	*b = {size, site, small};
	sum->add(size);
	t->sum.add(size);
	s->all.add(size);
	s->total_by_size[class_of(size)]++;
	s->live_by_size[class_of(size)]++;
}

inline void deallocated(std::size_t, const void *address, void *user)
{
	auto *s = static_cast<state *>(user);
	if (!s->enabled.load(std::memory_order_relaxed))
		return;
	const lock l(s);
	forget(s, reinterpret_cast<uint64_t>(address));
}

static int look_up(const void *, Dl_info *) __attribute__((weakref("dladdr")));
static void *open_library(const char *, int) __attribute__((weakref("dlopen")));

// Prevents this module from being unloaded, because other modules call functions that are compiled into it.
inline void stay_loaded()
{
	Dl_info own;
	if (!look_up || !open_library || !look_up(reinterpret_cast<const void *>(&allocated), &own))
		return;
	if (getauxval(AT_PHDR) - reinterpret_cast<unsigned long>(own.dli_fbase) < 65536)
		return; // this is the executable
	open_library(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// Null without the agent.
inline state *shared()
{
	static state *const s = [] {
		const heaptap::hide hide;
		auto *made = static_cast<state *>(heaptap_shared("mallocProfiler 1", sizeof(state)));
		uint32_t begun = 0;
		if (made && made->begun.compare_exchange_strong(begun, 1)) {
			stay_loaded();
			made->held = static_cast<std::atomic<uint32_t> *>(map(4096));
			if (made->held) {
				madvise(made->held, 4096, MADV_WIPEONFORK);
				made->enabled = made->active = static_cast<uint32_t>(heaptap_active());
				made->epoch = 1;
				made->threshold = 128;
				made->summary_lap = 10;
				made->dump_lap = 600;
				const heaptap_monitor m = {allocated, deallocated, made};
				heaptap_monitor_add(&m);
			}
			made->begun = 2;
		}
		while (made && made->begun != 2)
			sched_yield();
		return made && made->held ? made : nullptr;
	}();
	return s;
}

// While this object lives, the calling thread is not active.
class quiet
{
      public:
	explicit quiet(state *s) : state_(s)
	{
		const lock l(state_);
		thread_state *t = state_->mine();
		if (!t)
			return;
		before_ = *t;
		t->epoch = state_->epoch;
		t->active = false;
	}
	~quiet()
	{
		const lock l(state_);
		thread_state *t = state_->mine();
		if (!t)
			return;
		t->epoch = before_.epoch;
		t->active = before_.active;
	}
	quiet(const quiet &) = delete;
	quiet &operator=(const quiet &) = delete;

      private:
	state *state_;
	thread_state before_ = {};
};

// Starts the recording, in case the program began with --start off.
inline void record(state *s)
{
	if (!heaptap_active() && heaptap_start() == HEAPTAP_OK)
		s->started = 1;
}
inline void record_no_more(state *s)
{
	if (s->started.exchange(0))
		heaptap_stop();
}

} // namespace detail

inline bool loaded()
{
	return detail::shared() != nullptr;
}

inline bool enabled()
{
	const detail::state *s = detail::shared();
	return s && s->enabled;
}

// Switch everything on and off.
inline void enable()
{
	if (detail::state *s = detail::shared()) {
		detail::record(s);
		s->enabled = 1;
	}
}
inline void disable()
{
	if (detail::state *s = detail::shared()) {
		s->enabled = 0;
		detail::record_no_more(s);
	}
}

// Whether everything is enabled, or whether the calling thread is active.
inline bool active(bool all = true)
{
	detail::state *s = detail::shared();
	if (!s || all)
		return s && s->enabled;
	const detail::lock l(s);
	const detail::thread_state *t = s->mine();
	return t && s->is_active(*t);
}

namespace detail
{
inline void activate(bool all, bool on)
{
	state *s = shared();
	if (!s)
		return;
	if (on)
		record(s);
	const lock l(s);
	if (all) {
		s->epoch++;
		s->active = on;
	} else if (thread_state *t = s->mine()) {
		t->epoch = s->epoch;
		t->active = on;
	}
}
} // namespace detail

inline void activate(bool all = true)
{
	detail::activate(all, true);
}
inline void deactivate(bool all = true)
{
	detail::activate(all, false);
}

// Resets the numbers, and forgets all earlier blocks. For one thread, the sums of all threads stay as they are.
inline void clear(bool all = true)
{
	detail::state *s = detail::shared();
	if (!s)
		return;
	const detail::lock l(s);
	if (all) {
		s->all = Stat();
		s->total_by_size = s->live_by_size = Hist();
		s->blocks.drop();
		s->sites.drop();
		s->threads.each([](std::uint64_t, detail::thread_state &t) { t.sum = t.small = Stat(); });
		return;
	}
	const std::uint64_t mine = heaptap_thread();
	detail::table<detail::block> blocks = {};
	detail::table<Stat> sites = {};
	s->blocks.each([&](std::uint64_t key, const detail::block &b) {
		detail::block *copy = b.site >> 32 != mine ? blocks.get(key) : nullptr;
		if (copy)
			*copy = b;
	});
	s->sites.each([&](std::uint64_t key, const Stat &sum) {
		Stat *copy = key >> 32 != mine ? sites.get(key) : nullptr;
		if (copy)
			*copy = sum;
	});
	s->blocks.drop();
	s->sites.drop();
	s->blocks = blocks;
	s->sites = sites;
	if (detail::thread_state *t = s->mine())
		t->sum = t->small = Stat();
}

inline Stat summary(bool all = true)
{
	detail::state *s = detail::shared();
	if (!s)
		return Stat();
	const detail::lock l(s);
	const detail::thread_state *t = s->mine();
	return all ? s->all : t ? t->sum : Stat();
}
inline Hist memTotHistogram()
{
	detail::state *s = detail::shared();
	if (!s)
		return Hist();
	const detail::lock l(s);
	return s->total_by_size;
}
inline Hist memLiveHistogram()
{
	detail::state *s = detail::shared();
	if (!s)
		return Hist();
	const detail::lock l(s);
	return s->live_by_size;
}

namespace detail
{

struct frame {
	std::string name, place; // place: file and line, or empty
};
using frames = std::vector<frame>; // from the leaf on

// Reads the recorder's answer to "frames": the call stacks by number.
inline std::map<uint32_t, frames> ask()
{
	std::map<uint32_t, frames> stacks;
	std::istringstream text(heaptap::dump(std::string("frames"), 60000));
	frames *stack = nullptr;
	for (std::string line; std::getline(text, line);) {
		if (line.empty())
			continue;
		if (line[0] != '\t') {
			stack = &stacks[static_cast<uint32_t>(std::strtoul(line.c_str(), nullptr, 10))];
			stack->clear();
		} else if (stack) {
			const std::size_t end = line.find('\t', 1);
			stack->push_back(
				{line.substr(1, end - 1), end == std::string::npos ? "" : line.substr(end + 1)});
		}
	}
	return stacks;
}

struct site {
	uint32_t stack;
	Stat sum;
};

// Collects the lines to print, the largest first, and the sum of the rest.
inline std::vector<site> collect(state *s, SortBy by, bool all, Stat &small)
{
	std::map<uint32_t, Stat> stacks;
	{
		const lock l(s);
		const uint64_t mine = heaptap_thread();
		s->sites.each([&](uint64_t key, const Stat &sum) {
			if (all || key >> 32 == mine)
				stacks[static_cast<uint32_t>(key)].merge(sum);
		});
		s->threads.each([&](uint64_t key, const thread_state &t) {
			if (all || key == mine)
				small.merge(t.small);
		});
	}
	std::vector<site> list;
	for (const auto &[stack, sum] : stacks)
		if (!s->no_zero_live || sum.mlive)
			list.push_back({stack, sum});
	const auto size = [by](const Stat &sum) {
		switch (by) {
		case SortBy::tot:
			return sum.mtot;
		case SortBy::live:
			return static_cast<double>(sum.mlive);
		case SortBy::ncalls:
			return static_cast<double>(sum.ntot);
		default:
			return static_cast<double>(sum.mmax);
		}
	};
	std::stable_sort(list.begin(), list.end(),
			 [&](const site &a, const site &b) { return size(a.sum) > size(b.sum); });
	return list;
}

inline void print(std::ostream &out, const Stat &sum, char separator)
{
	out << sum.ntot << separator << static_cast<uint64_t>(sum.mtot) << separator << sum.mlive << separator
	    << sum.mmax;
}

inline void dump(state *s, std::ostream &out, char separator, SortBy by, bool all)
{
	Stat small;
	std::vector<site> list = collect(s, by, all, small);
	try {
		const auto stacks = list.empty() ? std::map<uint32_t, frames>() : ask();
		for (const site &one : list) {
			out << "_mpTrace_";
			const auto found = stacks.find(one.stack);
			for (std::size_t i = found == stacks.end() ? 0 : found->second.size(); i-- > 0;) {
				std::string name = found->second[i].name;
				const remangleType remangler = s->remangler;
				const bool last = remangler && remangler(name);
				std::replace(name.begin(), name.end(), ';', ':');
				if (!name.empty())
					out << ';' << name;
				if (last)
					break;
			}
			out << ' ' << separator;
			print(out, one.sum, separator);
			out << '\n';
		}
	} catch (const heaptap::no_answer &) {
		for (const site &one : list)
			small.merge(one.sum);
	}
	out << "_mpTrace_;" << (s->reverse ? "Large" : "Small") << "Allocations " << separator;
	print(out, small, separator);
	out << '\n';
}

// Returns how many frames, from the root on, belong to the caller of dumpDetails.
inline std::size_t depth_of_caller(const frames &here)
{
	std::size_t i = 0;
	for (std::size_t k = 0; k < here.size(); k++)
		if (here[k].name.find("mallocProfiler::") != std::string::npos ||
		    here[k].name.find("heaptap") != std::string::npos)
			i = k + 1;
	return here.size() - i;
}

inline void dump_details(state *s, std::ostream &out, const std::string &from, bool all)
{
	Stat small;
	const std::vector<site> list = collect(s, SortBy::max, all, small);
	std::map<uint32_t, frames> stacks;
	try {
		stacks = ask();
	} catch (const heaptap::no_answer &) {
		return;
	}
	const std::size_t depth = depth_of_caller(stacks[0]);
	for (const site &one : list) {
		const frames &stack = stacks[one.stack];
		std::size_t end = stack.size() - std::min(stack.size(), std::max<std::size_t>(depth, 1) - 1);
		if (!from.empty()) {
			const auto last = std::find_if(stack.begin(), stack.end(), [&](const frame &f) {
				return f.name.find(from) != std::string::npos;
			});
			if (last == stack.end())
				continue;
			end = static_cast<std::size_t>(last - stack.begin()) + 1;
		}
		out << "Stat ";
		print(out, one.sum, ' ');
		out << " at\n";
		for (std::size_t i = 0; i < end; i++)
			out << '#' << i << ' ' << stack[i].name << ' ' << stack[i].place << '\n';
	}
}

inline void print_histogram(std::ostream &out, const Hist &h)
{
	for (uint64_t n : h)
		out << n << ',';
	out << '\n';
}

} // namespace detail

// Prints a line for each call stack: _mpTrace_;STACK from the root on, then calls, bytes, live and most live bytes,
// each after the separator. The last line is for all blocks that the threshold leaves out.
inline std::ostream &dump(std::ostream &out, char separator = '$', SortBy by = SortBy::none, bool all = true)
{
	if (detail::state *s = detail::shared()) {
		const detail::quiet q(s);
		detail::dump(s, out, separator, by, all);
	}
	return out;
}

// Prints call stacks with a line for each function, from the leaf on, with file and line: up to the function that calls
// this, or only the stacks with a function whose name contains `from`, up to the first such function.
inline std::ostream &dumpDetails(std::ostream &out, const std::string &from = {}, bool all = true)
{
	if (detail::state *s = detail::shared()) {
		const detail::quiet q(s);
		detail::dump_details(s, out, from, all);
	}
	return out;
}

// Blocks of at least so many requested bytes are printed with their call stacks; reverse: blocks of at most so many.
inline void setThreshold(std::size_t value, bool reverse = false)
{
	if (detail::state *s = detail::shared()) {
		s->threshold = value;
		s->reverse = reverse;
	}
}
inline std::size_t getThreshold()
{
	const detail::state *s = detail::shared();
	return s ? s->threshold.load() : 0;
}
// Leaves names as they are.
inline bool keepName(std::string &)
{
	return false;
}
inline remangleType getDefaultRemangler()
{
	return keepName;
}
inline remangleType getCurrentRemangler()
{
	const detail::state *s = detail::shared();
	const remangleType set = s ? s->remangler.load() : nullptr;
	return set ? set : keepName;
}
inline void setRemangler(remangleType f)
{
	if (detail::state *s = detail::shared())
		s->remangler = f;
}
inline void setVerbose(bool)
{
}
// When the program ends, only the sums are printed.
inline void noFinalDump()
{
	if (detail::state *s = detail::shared())
		s->no_final_dump = 1;
}
// Leaves out call stacks of which nothing is live.
inline void noZeroLiveDump(bool no)
{
	if (detail::state *s = detail::shared())
		s->no_zero_live = no;
}

namespace detail
{

inline void print_summaries(state *s)
{
	std::ofstream out("memstat_" + std::to_string(getpid()) + ".mdr");
	out << "MemStat Global Summary time: ncalls memtot memlive maxlive" << std::endl;
	for (std::int64_t lap, time = 0;; time += lap) {
		lap = s->summary_lap;
		std::this_thread::sleep_for(std::chrono::seconds(lap));
		const Stat sum = summary();
		out << "MemStat Global Summary " << time + lap << ": ";
		print(out, sum, ' ');
		out << "\nMemTot Global Hist ";
		print_histogram(out, memTotHistogram());
		out << "MemLive Global Hist ";
		print_histogram(out, memLiveHistogram());
		out.flush();
	}
}

inline void print_dumps(state *s)
{
	for (int n = 0;; n++) {
		std::this_thread::sleep_for(std::chrono::seconds(s->dump_lap.load()));
		std::ofstream out("memdump_" + std::to_string(getpid()) + '_' + std::to_string(n) + ".mdr");
		dump(s, out, '$', SortBy::max, true);
	}
}

inline void start(state *s, void (*print)(state *))
{
	std::thread([s, print] {
		deactivate(currentThread);
		print(s);
	}).detach();
}

} // namespace detail

// Starts printing at intervals, unless it has been started: sums and histograms into memstat_PID.mdr, the output of
// dump into memdump_PID_N.mdr.
inline void setDumpingInterval(const std::chrono::seconds &summaryLap, const std::chrono::seconds &dumpLap)
{
	detail::state *s = detail::shared();
	if (!s)
		return;
	s->summary_lap = std::max<std::int64_t>(1, summaryLap.count());
	s->dump_lap = std::max<std::int64_t>(1, dumpLap.count());
	if (s->dumping.exchange(1))
		return;
	const detail::quiet q(s);
	detail::start(s, detail::print_summaries);
	detail::start(s, detail::print_dumps);
}

namespace detail
{

inline void print_final(state *s)
{
	s->enabled = 0;
	uint64_t threads;
	{
		const lock l(s);
		threads = s->threads.used;
	}
	const std::string of = " for " + std::to_string(getpid()) + '/' + std::to_string(threads) + ": ";
	std::cout << "MemStat Global Summary" << of;
	print(std::cout, s->all, ' ');
	std::cout << "\nMemTot Global Hist" << of;
	print_histogram(std::cout, s->total_by_size);
	std::cout << "MemLive Global Hist" << of;
	print_histogram(std::cout, s->live_by_size);
	if (!s->no_final_dump)
		dump(s, std::cout, '$', SortBy::max, true);
	std::cout.flush();
}

// One in each module. The last one to go prints, when the others' static objects are gone.
inline std::atomic<uint32_t> *modules()
{
	return static_cast<std::atomic<uint32_t> *>(
		heaptap_shared("mallocProfiler modules", sizeof(std::atomic<uint32_t>)));
}
inline const struct begin {
	begin()
	{
		if (shared() && modules())
			++*modules();
	}
	~begin()
	{
		if (shared() && modules() && --*modules() == 0)
			print_final(shared());
	}
} begin_;

} // namespace detail

} // namespace mallocProfiler

#endif
