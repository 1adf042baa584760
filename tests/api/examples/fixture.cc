// SPDX-License-Identifier: Apache-2.0
//
// fixture.cc: a GoogleTest fixture under which every test must give back what it takes, and assertions on single calls.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <heaptap/gtest.h>

class frugal : public testing::Test
{
      protected:
	void SetUp() override
	{
		HEAPTAP_SKIP_UNLESS_LOADED();
		begin_ = heaptap_measure_begin(HEAPTAP_THREAD);
	}
	void TearDown() override
	{
		heaptap::measured m;
		heaptap_measure_end(begin_, &m); // all 0 if it was not begun
		EXPECT_LE(m.added, 0) << "the test keeps memory: " << m;
	}

      private:
	std::int64_t begin_ = 0;
};

TEST_F(frugal, ShortStringsLieInTheObject)
{
	HEAPTAP_EXPECT(allocations, EQ, 0, std::string s("15 bytes fit in"));
	HEAPTAP_EXPECT(allocations, EQ, 1, std::string s("16 bytes do not."));
}

TEST_F(frugal, ReserveSavesAllocations)
{
	HEAPTAP_ASSERT(allocations, LE, 1, {
		std::vector<int> v;
		v.reserve(1000);
		for (int i = 0; i < 1000; i++)
			v.push_back(i);
	});
}

// Fails, and so is run only by --gtest_also_run_disabled_tests.
TEST_F(frugal, DISABLED_Keeps)
{
	static std::vector<int> kept(1000);
	kept[0] = 1;
}
