// SPDX-License-Identifier: Apache-2.0
//
// mallocProfiler.h: for programs that were written for MallocProfiler: the functions of its namespace, by heaptap. C++17.
//
// The sums and histograms are of usable bytes, counted from when the program's static objects are made. The call stacks that dump
// prints are the recorder's: of requested bytes, of all that was recorded since the start of the program, whatever clear and
// deactivate have done. Blocks below the threshold have one line together, SmallAllocations, whose peak is the sum of their stacks' peaks;
// where there is no recorder that answers within a minute, dump puts everything into it, and dumpDetails prints nothing. Nothing is
// printed at the end, nor at intervals (`heaptap run --monitor periodic` does that), so noFinalDump, setDumpingInterval and setVerbose
// have nothing to do. Without the agent, loaded() is false and all is 0.
#ifndef HEAPTAP_COMPAT_MALLOC_PROFILER_H
#define HEAPTAP_COMPAT_MALLOC_PROFILER_H

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>

#include "../heaptap.hpp"

namespace mallocProfiler
{

enum class SortBy { none, tot, live, max, ncalls };

struct Stat {
	double mtot = 0; // bytes that were allocated
	std::uint64_t mlive = 0; // bytes that are live
	std::uint64_t mmax = 0; // the most that were
	std::uint64_t ntot = 0; // allocations
};

using Hist = std::array<std::uint64_t, 64>; // element i: of 2^i to 2^(i+1) - 1 bytes
using remangleType = bool (*)(std::string &name);

constexpr bool allThreads = true;
constexpr bool currentThread = false;

namespace detail
{

// Signed, since blocks from before are freed, too.
struct counts {
	std::atomic<std::int64_t> total{0}, live{0}, most{0}, number{0};

	void add(std::int64_t bytes)
	{
		total += bytes;
		number++;
		const std::int64_t now = live += bytes;
		for (std::int64_t old = most; now > old && !most.compare_exchange_weak(old, now);)
			;
	}
	void clear()
	{
		total = live = most = number = 0;
	}
	Stat stat() const
	{
		return {static_cast<double>(total), static_cast<std::uint64_t>(std::max<std::int64_t>(live, 0)),
			static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(number)};
	}
};

inline counts all;
inline thread_local counts mine;
inline thread_local bool active_here = true;
inline std::atomic<bool> active_everywhere{true};
inline std::array<std::atomic<std::int64_t>, 64> total_by_size, live_by_size;
inline std::size_t threshold;
inline bool reverse;
inline remangleType remangler;
inline bool no_zero_live;
inline heaptap::monitor *registered;

inline std::size_t class_of(std::size_t bytes)
{
	return bytes ? 63 - static_cast<std::size_t>(__builtin_clzl(bytes)) : 0;
}

struct books : heaptap::monitor {
	static bool wanted()
	{
		return active_here && active_everywhere.load(std::memory_order_relaxed);
	}
	void allocated(std::size_t, std::size_t usable, const void *) noexcept override
	{
		if (!wanted())
			return;
		all.add(static_cast<std::int64_t>(usable));
		mine.add(static_cast<std::int64_t>(usable));
		total_by_size[class_of(usable)]++;
		live_by_size[class_of(usable)]++;
	}
	void deallocated(std::size_t usable, const void *) noexcept override
	{
		if (!wanted())
			return;
		all.live -= static_cast<std::int64_t>(usable);
		mine.live -= static_cast<std::int64_t>(usable);
		live_by_size[class_of(usable)]--;
	}
};

inline Hist copy(const std::array<std::atomic<std::int64_t>, 64> &from)
{
	Hist h{};
	std::transform(from.begin(), from.end(), h.begin(),
		       [](const auto &n) { return static_cast<std::uint64_t>(std::max<std::int64_t>(n.load(), 0)); });
	return h;
}

} // namespace detail

inline bool loaded()
{
	return heaptap::loaded();
}

inline bool enabled()
{
	return detail::registered != nullptr;
}

// All of it on and off: registers the books that are kept here, and removes them.
inline void enable()
{
	if (loaded() && !detail::registered)
		detail::registered = &heaptap::registry::instance().add<detail::books>();
}
inline void disable()
{
	if (detail::registered)
		heaptap::registry::instance().remove(*detail::registered);
	detail::registered = nullptr;
}

inline bool active(bool all = true)
{
	return enabled() && (all ? detail::active_everywhere.load() : detail::active_here);
}
inline void activate(bool all = true)
{
	(all ? (void)(detail::active_everywhere = true) : (void)(detail::active_here = true));
}
inline void deactivate(bool all = true)
{
	(all ? (void)(detail::active_everywhere = false) : (void)(detail::active_here = false));
}

// Of all threads only the common counts: each thread's own are its own to clear.
inline void clear(bool all = true)
{
	if (!all)
		return detail::mine.clear();
	detail::all.clear();
	for (auto *h : {&detail::total_by_size, &detail::live_by_size})
		for (auto &n : *h)
			n = 0;
}

inline Stat summary(bool all = true)
{
	return all ? detail::all.stat() : detail::mine.stat();
}
inline Hist memTotHistogram()
{
	return detail::copy(detail::total_by_size);
}
inline Hist memLiveHistogram()
{
	return detail::copy(detail::live_by_size);
}

namespace detail
{
// What a line of `stacks` or `details` begins with.
struct numbers {
	std::uint64_t calls = 0, bytes = 0, live = 0, peak = 0;

	explicit numbers(std::istream &in)
	{
		in >> calls >> bytes >> live >> peak;
		in.get();
	}
	void print(std::ostream &out, char separator) const
	{
		out << separator << calls << separator << bytes << separator << live << separator << peak << '\n';
	}
	numbers() = default;
};

// What is asked of blocks from the threshold on, or of those that it leaves out: empty if there are none.
inline std::string sizes(bool left_out)
{
	if (threshold == 0)
		return left_out ? "" : " size=0..";
	return left_out == reverse ? " size=" + std::to_string(threshold) + ".."
				   : " size=0.." + std::to_string(threshold - 1);
}

inline std::string ask(const char *what, const std::string &sizes, bool everywhere)
{
	return heaptap::dump(what + sizes + (everywhere ? "" : " thread=self"), 60000);
}

inline void dump_line(std::ostream &out, const std::string &line, char separator)
{
	std::istringstream words(line);
	const numbers n(words);
	if (!words || (no_zero_live && n.live == 0))
		return;
	out << "_mpTrace_";
	for (std::string name; std::getline(words, name, ';');) {
		if (remangler)
			remangler(name);
		out << ';' << name;
	}
	out << ' ';
	n.print(out, separator);
}

// The sum of what the threshold leaves out.
inline numbers small(bool everywhere)
{
	numbers sum;
	const std::string which = sizes(true);
	if (which.empty())
		return sum;
	std::istringstream lines(ask("stacks", which, everywhere));
	for (std::string line; std::getline(lines, line);) {
		std::istringstream words(line);
		const numbers n(words);
		sum.calls += n.calls;
		sum.bytes += n.bytes;
		sum.live += n.live;
		sum.peak += n.peak;
	}
	return sum;
}
} // namespace detail

// A line for each call stack: _mpTrace_;STACK from the root on, then calls, bytes, live and peak bytes, each after the separator.
inline std::ostream &dump(std::ostream &out, char separator = '$', SortBy by = SortBy::none, bool all = true)
{
	heaptap::hide hide;
	const char *const orders[] = {"stacks", "stacks sort=total", "stacks sort=live", "stacks sort=peak",
				      "stacks sort=calls"};
	detail::numbers rest;
	try {
		std::istringstream lines(detail::ask(orders[static_cast<int>(by)], detail::sizes(false), all));
		for (std::string line; std::getline(lines, line);)
			detail::dump_line(out, line, separator);
		rest = detail::small(all);
		if (rest.calls == 0 || (detail::no_zero_live && rest.live == 0))
			return out;
	} catch (const heaptap::no_answer &) {
		const Stat s = summary(all);
		rest.calls = s.ntot;
		rest.bytes = static_cast<std::uint64_t>(s.mtot);
		rest.live = s.mlive;
		rest.peak = s.mmax;
	}
	out << "_mpTrace_;SmallAllocations ";
	rest.print(out, separator);
	return out;
}

// Call stacks with a line for each function, from the leaf on: its name, file and line. Each begins with calls, bytes, live and peak bytes, and
// ends at the first function whose name has `from` in it; empty: at the root.
inline std::ostream &dumpDetails(std::ostream &out, const std::string &from = {}, bool all = true)
{
	heaptap::hide hide;
	try {
		std::istringstream lines(detail::ask("details", detail::sizes(false), all));
		bool told = false; // is this call stack printed?
		for (std::string line; std::getline(lines, line);) {
			if (line.empty()) {
				out << (told ? "\n" : "");
				told = false;
			} else if (line[0] != '\t') {
				std::istringstream words(line);
				const detail::numbers n(words);
				if ((told = !detail::no_zero_live || n.live != 0))
					out << line << '\n';
			} else if (told) {
				out << line.substr(1) << '\n';
				const std::string name = line.substr(1, line.find('\t', 1) - 1);
				if (!from.empty() && name.find(from) != std::string::npos) {
					out << '\n';
					told = false;
				}
			}
		}
	} catch (const heaptap::no_answer &) {
	}
	return out;
}

// From how many requested bytes on a block has a call stack in dump and dumpDetails; reverse: up to how many, without that number.
inline void setThreshold(std::size_t value, bool reverse = false)
{
	detail::threshold = value;
	detail::reverse = reverse;
}
inline std::size_t getThreshold()
{
	return detail::threshold;
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
	return detail::remangler ? detail::remangler : keepName;
}
inline void setRemangler(remangleType f)
{
	detail::remangler = f;
}
inline void setVerbose(bool)
{
}
inline void noFinalDump()
{
}
// Leaves out call stacks of which nothing is live.
inline void noZeroLiveDump(bool no)
{
	detail::no_zero_live = no;
}
inline void setDumpingInterval(const std::chrono::seconds &, const std::chrono::seconds &)
{
}

namespace detail
{
inline const struct begin {
	begin()
	{
		enable();
	}
} begin_;
} // namespace detail

} // namespace mallocProfiler

#endif
