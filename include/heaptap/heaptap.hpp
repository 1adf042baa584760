// SPDX-License-Identifier: Apache-2.0
//
// heaptap.hpp: heaptap.h for C++17, header only: RAII scopes, and monitors as objects.
//
//     heaptap::region region("event", {run, event});
//     heaptap::measure measure;
//     process(event);
//     if (measure.read().allocations > 100) ...
//
// Without the agent, scopes do nothing, measures read 0, and the registry throws.
#ifndef HEAPTAP_HPP
#define HEAPTAP_HPP

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

#include "heaptap.h"

inline std::ostream &operator<<(std::ostream &out, const heaptap_measured &m)
{
	return out << m.allocations << " allocations of " << m.requested << " bytes (" << m.allocated << " usable), "
		   << m.deallocations << " deallocations of " << m.deallocated << " usable bytes; added " << m.added
		   << ", highest " << m.highest << ", lowest " << m.lowest << ", largest " << m.largest;
}

namespace heaptap
{

inline bool loaded() noexcept
{
	return heaptap_loaded();
}

inline bool active() noexcept
{
	return heaptap_active();
}

// heaptap_version.
inline int version() noexcept
{
	return heaptap_version();
}

// heaptap_start and heaptap_stop. False without the agent.
inline bool start() noexcept
{
	return heaptap_start() == HEAPTAP_OK;
}
inline bool stop() noexcept
{
	return heaptap_stop() == HEAPTAP_OK;
}

// heaptap_mark, heaptap_thread_name and heaptap_range_name.
inline void mark(const std::string &name)
{
	heaptap_mark(name.c_str());
}
inline void thread_name(const std::string &name)
{
	heaptap_thread_name(name.c_str());
}
inline void range_name(const void *start, std::size_t size, const std::string &name)
{
	heaptap_range_name(start, size, name.c_str());
}

// While this object lives, what the calling thread allocates is not recorded: heaptap_pause and heaptap_resume.
class pause
{
      public:
	pause() noexcept
	{
		heaptap_pause();
	}
	~pause()
	{
		heaptap_resume();
	}
	pause(const pause &) = delete;
	pause &operator=(const pause &) = delete;
};

// While this object lives, what the calling thread allocates and frees is neither reported to monitors nor measured:
// heaptap_hide and heaptap_unhide.
class hide
{
      public:
	hide() noexcept
	{
		heaptap_hide();
	}
	~hide()
	{
		heaptap_unhide();
	}
	hide(const hide &) = delete;
	hide &operator=(const hide &) = delete;
};

// A region of the calling thread, until the end of the scope, also by an exception. The name must live as long.
class region
{
      public:
	explicit region(const char *name, std::initializer_list<std::int64_t> ids = {}) noexcept : name_(name)
	{
		heaptap_region_begin(name, ids.begin(), ids.size());
	}
	~region()
	{
		heaptap_region_end(name_);
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;

      private:
	const char *name_;
};

// A pool, until the end of the scope, which ends what is left in it. The functions are those of heaptap.h, "Pools".
class pool
{
      public:
	explicit pool(const char *name) noexcept : id_(heaptap_pool_create(name))
	{
	}
	~pool()
	{
		heaptap_pool_destroy(id_);
	}
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	__attribute__((always_inline)) void backing(const void *block, std::size_t size) const noexcept
	{
		heaptap_pool_backing(id_, block, size);
	}
	__attribute__((always_inline)) void allocated(const void *address, std::size_t size) const noexcept
	{
		heaptap_pool_alloc(id_, address, size);
	}
	__attribute__((always_inline)) void freed(const void *address) const noexcept
	{
		heaptap_pool_free(id_, address);
	}
	__attribute__((always_inline)) void moved(const void *from, const void *to, std::size_t size) const noexcept
	{
		heaptap_pool_move(id_, from, to, size);
	}
	__attribute__((always_inline)) void clear() const noexcept
	{
		heaptap_pool_clear(id_);
	}
	// Calls a function that allocates backing for the pool, so that it is counted only as such. Returns the
	// function's result.
	template <typename Function> auto grow(Function &&function) const
	{
		struct serving {
			heaptap_pool_id before;
			~serving()
			{
				heaptap_pool_serve(before);
			}
		} s = {heaptap_pool_serve(id_)};
		return std::forward<Function>(function)();
	}
	heaptap_pool_id id() const noexcept
	{
		return id_;
	}

      private:
	heaptap_pool_id id_;
};

#ifdef __cpp_lib_memory_resource
// Reports what a memory resource of the standard library does. Put one around the resource to report its allocations,
// and one with `backing` below it to report the memory that it takes:
//
//     heaptap::pool pool("events");
//     heaptap::pool_resource below(pool, std::pmr::new_delete_resource(), heaptap::pool_resource::backing);
//     std::pmr::monotonic_buffer_resource arena(&below);
//     heaptap::pool_resource events(pool, &arena);
//     std::pmr::vector<int> list(&events);
//
// Code that releases the arena must also call pool.clear().
class pool_resource : public std::pmr::memory_resource
{
      public:
	enum role { contents, backing };
	pool_resource(const pool &pool, std::pmr::memory_resource *upstream, role role = contents) noexcept
	    : pool_(pool), upstream_(upstream), role_(role)
	{
	}

      private:
	void *do_allocate(std::size_t size, std::size_t alignment) override
	{
		if (role_ == backing) {
			void *memory = pool_.grow([&] { return upstream_->allocate(size, alignment); });
			pool_.backing(memory, size); // in case it is another pool's
			return memory;
		}
		void *p = upstream_->allocate(size, alignment);
		pool_.allocated(p, size);
		return p;
	}
	void do_deallocate(void *p, std::size_t size, std::size_t alignment) override
	{
		if (role_ == contents)
			pool_.freed(p);
		upstream_->deallocate(p, size, alignment);
	}
	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
		return this == &other;
	}

	const pool &pool_;
	std::pmr::memory_resource *upstream_;
	role role_;
};
#endif

using measured = heaptap_measured;

// A measure, until the end of the scope; of the calling thread unless HEAPTAP_PROCESS is given.
class measure
{
      public:
	explicit measure(unsigned flags = HEAPTAP_THREAD) noexcept : number_(heaptap_measure_begin(flags))
	{
	}
	~measure()
	{
		measured ignored;
		if (number_ > 0)
			heaptap_measure_end(number_, &ignored);
	}
	measure(const measure &) = delete;
	measure &operator=(const measure &) = delete;

	// Whether it measures: not without the agent, and not if there are too many at once.
	explicit operator bool() const noexcept
	{
		return number_ > 0;
	}

	// Returns what has happened so far.
	measured read() const noexcept
	{
		measured m;
		heaptap_measure_read(number_, &m);
		return m;
	}

      private:
	std::int64_t number_;
};

// Measures what a function does in this thread.
template <typename Function> measured measure_of(Function &&function)
{
	measure m;
	std::forward<Function>(function)();
	return m.read();
}

// Base class of monitors. The functions are called in any thread, several at a time; heaptap.h, "Monitors", says what
// they may do.
class monitor
{
      public:
	virtual ~monitor() = default;
	virtual void allocated(std::size_t requested, std::size_t usable, const void *address) noexcept = 0;
	virtual void deallocated(std::size_t usable, const void *address) noexcept = 0;
};

namespace detail
{

// The process's monitors, wherever they were registered. Its layout is part of its name.
struct monitors {
	struct entry {
		int number;
		const void *name; // the key for removing it
		heaptap::monitor *monitor;
		const void *owner; // the registry that made it
	};

	std::atomic<int> made; // 0; 1 while it is being created; 2
	std::mutex mutex;
	std::vector<entry> list;

	// Null without the agent, or if there is no memory.
	static monitors *instance()
	{
		static_assert(sizeof(monitors) < 1000);
		auto *m = static_cast<monitors *>(heaptap_shared(name(), sizeof(monitors)));
		int made = 0;
		if (m && m->made.compare_exchange_strong(made, 1)) {
			new (&m->mutex) std::mutex;
			new (&m->list) std::vector<entry>;
			m->made = 2;
		}
		while (m && m->made != 2)
			std::this_thread::yield();
		return m;
	}
	// Programs that bring a C++ library of their own have monitors of their own.
	static const char *name()
	{
#ifdef _LIBCPP_VERSION
		return "heaptap::registry 1 libc++";
#else
		return "heaptap::registry 1";
#endif
	}
};

} // namespace detail

// Owns monitors, in one list for the process: a monitor that was registered in one module may be removed in another,
// and is destroyed at the latest with the module that registered it. All functions may be called in any thread, but not
// from within a monitor: there, remove throws std::logic_error, since it would destroy an object that is in use.
class registry
{
      public:
	static registry &instance()
	{
		static registry r;
		return r;
	}

	registry() : all_(detail::monitors::instance())
	{
	}
	registry(const registry &) = delete;
	registry &operator=(const registry &) = delete;
	~registry()
	{
		if (!all_)
			return;
		hide h;
		std::lock_guard<std::mutex> lock(all_->mutex);
		auto &list = all_->list;
		for (auto e = list.begin(); e != list.end();) {
			if (e->owner != this) {
				++e;
				continue;
			}
			if (heaptap_monitor_remove(e->number) !=
			    HEAPTAP_RUNNING) // still in use: leak it rather than destroy it
				delete e->monitor;
			e = list.erase(e);
		}
		if (list.empty())
			std::vector<detail::monitors::entry>().swap(list);
	}

	// Creates a monitor and registers it. Its creation is not reported. Throws std::runtime_error if the program
	// does not run under heaptap, or if there are too many monitors.
	template <typename Monitor, typename... Arguments> Monitor &add(Arguments &&...arguments)
	{
		hide h;
		check();
		auto owned = std::make_unique<Monitor>(std::forward<Arguments>(arguments)...);
		Monitor &made = *owned;
		add_as(static_cast<monitor *>(&made), std::move(owned));
		return made;
	}

	// Registers a monitor under a name, for remove.
	void add_as(const void *name, std::unique_ptr<monitor> owned)
	{
		hide h;
		check();
		std::lock_guard<std::mutex> lock(all_->mutex);
		all_->list.reserve(all_->list.size() + 1);
		const heaptap_monitor m = {allocated, deallocated, owned.get()};
		const int number = heaptap_monitor_add(&m);
		if (number < 0)
			throw std::runtime_error("heaptap: there are " + std::to_string(HEAPTAP_MONITORS) +
						 " monitors already");
		all_->list.push_back({number, name, owned.release(), this});
	}

	// Waits until the monitor is no longer being called, and destroys it. That is not reported.
	void remove(const monitor &which)
	{
		if (!remove(static_cast<const void *>(&which)))
			throw std::invalid_argument("heaptap: no such monitor is registered");
	}

	// The same by its name. Returns whether there was one.
	bool remove(const void *name)
	{
		if (!all_)
			return false;
		hide h;
		std::unique_ptr<monitor> last;
		std::lock_guard<std::mutex> lock(all_->mutex);
		auto &list = all_->list;
		auto e = std::find_if(list.begin(), list.end(), [&](const auto &x) { return x.name == name; });
		if (e == list.end())
			return false;
		if (heaptap_monitor_wait() == HEAPTAP_RUNNING)
			throw std::logic_error("heaptap: a monitor cannot be removed from within a monitor");
		heaptap_monitor_remove(e->number);
		last.reset(e->monitor);
		list.erase(e);
		return true;
	}

      private:
	void check() const
	{
		if (!all_)
			throw std::runtime_error("the heaptap agent is not loaded: start the program by `heaptap run`");
	}
	static void allocated(std::size_t requested, std::size_t usable, const void *address, void *user)
	{
		static_cast<monitor *>(user)->allocated(requested, usable, address);
	}
	static void deallocated(std::size_t usable, const void *address, void *user)
	{
		static_cast<monitor *>(user)->deallocated(usable, address);
	}

	detail::monitors *all_;
};

// The recorder did not answer: code() is what heaptap_live or heaptap_dump returned.
class no_answer : public std::runtime_error
{
      public:
	explicit no_answer(int code) : std::runtime_error(text(code)), code_(code)
	{
	}
	int code() const noexcept
	{
		return code_;
	}

      private:
	static const char *text(int code)
	{
		switch (code) {
		case HEAPTAP_NOT_LOADED:
			return "the heaptap agent is not loaded: start the program by `heaptap run`";
		case HEAPTAP_NO_RECORDER:
			return "heaptap: there is no recorder: start the program by `heaptap run`";
		case HEAPTAP_TIMEOUT:
			return "heaptap: the recorder has not answered in time";
		default:
			return "heaptap: the recorder does not understand the question, or its answer could not be "
			       "written";
		}
	}
	int code_;
};

using live_blocks = struct ::heaptap_live;

// heaptap_live: what is live. Throws no_answer.
inline live_blocks live(unsigned timeout = 5000)
{
	hide h;
	live_blocks l;
	const int wrong = ::heaptap_live(&l, timeout);
	if (wrong)
		throw no_answer(wrong);
	return l;
}

// heaptap_dump to a file descriptor. Throws no_answer.
inline void dump(int fd, const std::string &what = "", unsigned timeout = 5000)
{
	hide h;
	const int wrong = heaptap_dump(fd, what.c_str(), timeout);
	if (wrong)
		throw no_answer(wrong);
}

// The same as a string. It uses a temporary file in memory.
inline std::string dump(const std::string &what = "", unsigned timeout = 5000)
{
	hide h;
	const int fd = memfd_create("heaptap", MFD_CLOEXEC);
	if (fd < 0)
		throw no_answer(HEAPTAP_FULL);
	const int wrong = heaptap_dump(fd, what.c_str(), timeout);
	std::string text;
	char part[4096];
	for (ssize_t n; !wrong && (n = pread(fd, part, sizeof(part), static_cast<off_t>(text.size()))) > 0;)
		text.append(part, static_cast<std::size_t>(n));
	close(fd);
	if (wrong)
		throw no_answer(wrong);
	return text;
}

// heaptap_dump of the sums, and of the histogram.
inline std::string summary(unsigned timeout = 5000)
{
	return dump(std::string("summary"), timeout);
}
inline std::string histogram(unsigned timeout = 5000)
{
	return dump(std::string("histogram"), timeout);
}

} // namespace heaptap

#endif
