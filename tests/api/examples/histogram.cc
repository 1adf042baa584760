// SPDX-License-Identifier: Apache-2.0
//
// histogram.cc: a monitor for programs that know nothing of it: a library that is preloaded behind the agent and
// prints, at the end, how many allocations there were of each size, in powers of two.
//
//     g++ -O2 -fPIC -shared -I .../include histogram.cc -o histogram.so
//     LD_PRELOAD=./histogram.so heaptap run ./program

#include <array>
#include <atomic>
#include <cstdio>

#include <heaptap/heaptap.hpp>

namespace
{

class histogram : public heaptap::monitor
{
      public:
	// In all threads at once: nothing but atomics.
	void allocated(std::size_t requested, std::size_t, const void *) noexcept override
	{
		const int bits = requested ? 64 - __builtin_clzl(requested) : 0;
		counts_[static_cast<std::size_t>(bits)].fetch_add(1, std::memory_order_relaxed);
	}
	void deallocated(std::size_t, const void *) noexcept override
	{
	}
	~histogram() override
	{
		for (std::size_t i = 0; i < counts_.size(); i++)
			if (counts_[i])
				fprintf(stderr, "histogram: < 2^%zu bytes: %lu\n", i, counts_[i].load());
	}

      private:
	std::array<std::atomic<unsigned long>, 65> counts_{};
};

// The registry destroys it when the program exits.
struct registration {
	registration()
	{
		if (heaptap::loaded())
			heaptap::registry::instance().add<histogram>();
	}
} here;

} // namespace
