// SPDX-License-Identifier: Apache-2.0
//
// catch.cc: assertions on what code allocates, with Catch2.

#define CATCH_CONFIG_MAIN
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <heaptap/catch2.h>

TEST_CASE("a vector that reserves allocates once")
{
	HEAPTAP_CHECK(allocations == 1, std::vector<int> v; v.reserve(10); v.push_back(1));
	HEAPTAP_REQUIRE(added == 0, { std::string s(100, 'x'); });
}

TEST_CASE("fails, and so is run only by its tag", "[.leaks]")
{
	HEAPTAP_CHECK(added == 0, new int);
}
