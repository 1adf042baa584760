// SPDX-License-Identifier: Apache-2.0
//
// alloc_monitor.h: for code that was written for the AllocMonitor style: a base class to derive from, a registry that owns the
// monitors, and the C hooks, by heaptap. C++17.
//
// The "actual" size is the usable one. Monitors are called concurrently; what they allocate is not reported. Making,
// registering and destroying a monitor is not reported either.
#ifndef HEAPTAP_COMPAT_ALLOC_MONITOR_H
#define HEAPTAP_COMPAT_ALLOC_MONITOR_H

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "../heaptap.hpp"

namespace cms::perftools
{

class AllocMonitorBase
{
      public:
	AllocMonitorBase() = default;
	virtual ~AllocMonitorBase() = default;
	AllocMonitorBase(const AllocMonitorBase &) = delete;
	AllocMonitorBase &operator=(const AllocMonitorBase &) = delete;

	virtual void allocCalled(size_t requested, size_t actual, const void *address) = 0;
	virtual void deallocCalled(size_t actual, const void *address) = 0;
};

class AllocMonitorRegistry
{
      public:
	static AllocMonitorRegistry &instance()
	{
		static AllocMonitorRegistry registry;
		return registry;
	}

	// Does the program run under heaptap?
	static bool necessaryLibraryWasPreloaded()
	{
		return heaptap::loaded();
	}

	// Makes a monitor, which the registry owns. Throws std::runtime_error if the program does not run under heaptap.
	template <typename T, typename... Arguments> T *createAndRegisterMonitor(Arguments &&...arguments)
	{
		heaptap::hide hide;
		if (!heaptap::loaded())
			throw std::runtime_error("the heaptap agent is not loaded: start the program by `heaptap run`");
		auto owned = std::make_unique<T>(std::forward<Arguments>(arguments)...);
		T *made = owned.get();
		auto &caller = heaptap::registry::instance().add<adapter>(std::move(owned));
		std::lock_guard<std::mutex> lock(mutex_);
		callers_[made] = &caller;
		return made;
	}

	// Waits until nobody calls it any more, and destroys it. One that is not registered is ignored.
	void deregisterMonitor(AllocMonitorBase *monitor)
	{
		heaptap::hide hide;
		std::unique_lock<std::mutex> lock(mutex_);
		const auto found = callers_.find(monitor);
		if (found == callers_.end())
			return;
		adapter *caller = found->second;
		callers_.erase(found);
		lock.unlock();
		heaptap::registry::instance().remove(*caller);
	}

	AllocMonitorRegistry(const AllocMonitorRegistry &) = delete;
	AllocMonitorRegistry &operator=(const AllocMonitorRegistry &) = delete;

      private:
	struct adapter : heaptap::monitor {
		std::unique_ptr<AllocMonitorBase> to;
		explicit adapter(std::unique_ptr<AllocMonitorBase> monitor) : to(std::move(monitor))
		{
		}
		void allocated(size_t requested, size_t usable, const void *address) noexcept override
		{
			to->allocCalled(requested, usable, address);
		}
		void deallocated(size_t usable, const void *address) noexcept override
		{
			to->deallocCalled(usable, address);
		}
	};

	AllocMonitorRegistry()
	{
		if (heaptap::loaded())
			heaptap::registry::instance(); // is to be destroyed after this one
	}

	std::mutex mutex_;
	std::map<AllocMonitorBase *, adapter *> callers_;
};

} // namespace cms::perftools

// Nothing is reported before the first monitor is registered, nor when there is none: there is nothing to start or stop.
extern "C" inline void alloc_monitor_start()
{
}
extern "C" inline void alloc_monitor_stop()
{
}

namespace heaptap::compat
{
inline bool &reporting()
{
	static thread_local bool yes = true;
	return yes;
}
} // namespace heaptap::compat

// The calling thread is not reported from here on. Returns whether it was.
extern "C" inline bool alloc_monitor_stop_thread_reporting()
{
	const bool was = heaptap::compat::reporting();
	if (was)
		heaptap_hide();
	heaptap::compat::reporting() = false;
	return was;
}
extern "C" inline void alloc_monitor_start_thread_reporting()
{
	if (!heaptap::compat::reporting())
		heaptap_unhide();
	heaptap::compat::reporting() = true;
}

#endif
