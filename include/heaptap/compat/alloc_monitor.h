// SPDX-License-Identifier: Apache-2.0
//
// alloc_monitor.h: the AllocMonitor interface on top of heaptap, for code that was written for it: a base class for
// monitors, a registry that owns them, and the C hooks. C++17.
//
// The "actual" size is the usable size. Monitors are called concurrently; what they allocate is not reported. Nor is
// the creation, registration and destruction of a monitor.
#ifndef HEAPTAP_COMPAT_ALLOC_MONITOR_H
#define HEAPTAP_COMPAT_ALLOC_MONITOR_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "../heaptap.hpp"

// The C hooks. They call the agent's functions of the same names, which programs may also find with dlsym.

namespace heaptap::compat
{
// Returns the agent's function of that name; null without the agent.
template <typename Function> Function *hook(const char *name)
{
	hide h; // dlsym may allocate
	return loaded() ? reinterpret_cast<Function *>(heaptap_dlsym(nullptr, name)) : nullptr;
}
} // namespace heaptap::compat

// Not exported, because dlsym would find them instead of the agent's.
#define HEAPTAP_HOOK extern "C" __attribute__((visibility("hidden"))) inline

// After stop, nothing is reported to AllocMonitorRegistry's monitors until start, or until one is registered.
HEAPTAP_HOOK void alloc_monitor_start()
{
	static const auto start = heaptap::compat::hook<void()>("alloc_monitor_start");
	if (start)
		start();
}
HEAPTAP_HOOK void alloc_monitor_stop()
{
	static const auto stop = heaptap::compat::hook<void()>("alloc_monitor_stop");
	if (stop)
		stop();
}

// From now on, the calling thread is not reported. Returns whether it was.
HEAPTAP_HOOK bool alloc_monitor_stop_thread_reporting()
{
	static const auto stop = heaptap::compat::hook<bool()>("alloc_monitor_stop_thread_reporting");
	return stop && stop();
}
HEAPTAP_HOOK void alloc_monitor_start_thread_reporting()
{
	static const auto start = heaptap::compat::hook<void()>("alloc_monitor_start_thread_reporting");
	if (start)
		start();
}

#undef HEAPTAP_HOOK

namespace cms::perftools
{

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"

// Base class of monitors. Each function has two forms, with and without the address: override one of them.
class AllocMonitorBase
{
      public:
	AllocMonitorBase() = default;
	virtual ~AllocMonitorBase() = default;
	AllocMonitorBase(const AllocMonitorBase &) = delete;
	AllocMonitorBase(AllocMonitorBase &&) = delete;
	AllocMonitorBase &operator=(const AllocMonitorBase &) = delete;
	AllocMonitorBase &operator=(AllocMonitorBase &&) = delete;

	virtual void allocCalled(size_t requested, size_t actual, const void *)
	{
		allocCalled(requested, actual);
	}
	virtual void deallocCalled(size_t actual, const void *)
	{
		deallocCalled(actual);
	}
	virtual void allocCalled(size_t, size_t)
	{
	}
	virtual void deallocCalled(size_t)
	{
	}
};

#pragma GCC diagnostic pop

class AllocMonitorRegistry
{
      public:
	static AllocMonitorRegistry &instance()
	{
		static AllocMonitorRegistry registry;
		return registry;
	}

	// Whether the program runs under heaptap.
	static bool necessaryLibraryWasPreloaded()
	{
		return heaptap::loaded();
	}

	// Creates a monitor, which the registry owns. Throws std::runtime_error if the program does not run under
	// heaptap.
	template <typename T, typename... Arguments> T *createAndRegisterMonitor(Arguments &&...arguments)
	{
		heaptap::hide hide;
		if (!heaptap::loaded())
			throw std::runtime_error("the heaptap agent is not loaded: start the program by `heaptap run`");
		alloc_monitor_start();
		auto owned = std::make_unique<T>(std::forward<Arguments>(arguments)...);
		T *made = owned.get();
		heaptap::registry::instance().add_as(static_cast<AllocMonitorBase *>(made),
						     std::make_unique<adapter>(std::move(owned)));
		return made;
	}

	// Waits until the monitor is no longer being called, and destroys it. Ignores a monitor that is not registered.
	void deregisterMonitor(AllocMonitorBase *monitor)
	{
		heaptap::registry::instance().remove(static_cast<const void *>(monitor));
	}

	AllocMonitorRegistry(const AllocMonitorRegistry &) = delete;
	AllocMonitorRegistry &operator=(const AllocMonitorRegistry &) = delete;

      private:
	struct adapter final : heaptap::monitor {
		std::unique_ptr<AllocMonitorBase> to;
		const std::atomic<std::uint32_t> *stopped;

		explicit adapter(std::unique_ptr<AllocMonitorBase> monitor)
		    : to(std::move(monitor)), stopped(static_cast<std::atomic<std::uint32_t> *>(
						      heaptap_shared(HEAPTAP_ALLOC_MONITOR_STOPPED, sizeof(*stopped))))
		{
		}
		bool reports() const
		{
			return !stopped || !stopped->load(std::memory_order_relaxed);
		}
		void allocated(size_t requested, size_t usable, const void *address) noexcept override
		{
			if (reports())
				to->allocCalled(requested, usable, address);
		}
		void deallocated(size_t usable, const void *address) noexcept override
		{
			if (reports())
				to->deallocCalled(usable, address);
		}
	};

	AllocMonitorRegistry()
	{
		heaptap::registry::instance(); // must be destroyed after this one
	}
};

} // namespace cms::perftools

#endif
