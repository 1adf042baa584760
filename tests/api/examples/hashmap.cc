// SPDX-License-Identifier: Apache-2.0
//
// hashmap.cc: what filling a hash map costs, with and without reserve.

#include <cstdio>
#include <unordered_map>

#include <heaptap/heaptap.hpp>

static void fill(const char *how, bool reserve)
{
	heaptap::region region(how); // so that `heaptap top --region` can tell them apart
	heaptap::measure measure;
	std::unordered_map<int, int> map;
	if (reserve)
		map.reserve(100000);
	for (int i = 0; i < 100000; i++)
		map[i] = i;
	const heaptap::measured m = measure.read();
	printf("%-16s %lu allocations, %lu bytes requested, peak %ld, largest %lu\n", how, m.allocations, m.requested,
	       m.highest, m.largest);
}

int main()
{
	fill("without reserve", false);
	fill("with reserve", true);
}
