// SPDX-License-Identifier: Apache-2.0
//
// map.cc: a std::map that grows to N live nodes, shrinks and grows again. Usage: map N
//
// Every block below main is a node of the map, whose size is known, and the map itself. One line of JSON on stdout says
// what must be found below main. Nothing is freed at the end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <time.h>
#include <unistd.h>

using Map = std::map<uint64_t, uint64_t>;

static uint64_t clock_ns(clockid_t c)
{
	timespec t;
	clock_gettime(c, &t);
	return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

// A bijection of 64-bit numbers: distinct keys in random order.
static uint64_t key_of(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	i ^= i >> 32;
	return i * 0xd6e8feb86659fd93ull;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	uint64_t n = strtoull(argv[1], nullptr, 10);
	const uint64_t node = sizeof(std::_Rb_tree_node<Map::value_type>);
	uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	Map *m = new Map;
	for (uint64_t i = 0; i < n; i++)
		(*m)[key_of(i)] = i;
	uint64_t erased = 0, again = 0;
	for (uint64_t i = 0; i < n; i += 3)
		erased += m->erase(key_of(i));
	for (uint64_t i = 0; i < n / 10; i++, again++)
		(*m)[key_of(n + i)] = i;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	if (erased != (n + 2) / 3 || m->size() != n - erased + again)
		return 3;

	uint64_t left = m->size();
	char line[1024];
	int k = snprintf(
		line, sizeof line,
		"{\"pairs\":%lu,\"cpu_ns\":%lu,\"wall_ns\":%lu,\"allocations\":%lu,\"deallocations\":%lu,"
		"\"bytes\":%lu,\"leaked_blocks\":%lu,\"leaked_bytes\":%lu,\"peak_blocks\":%lu,\"peak_bytes\":%lu}\n",
		n, cpu, wall, n + again + 1, erased, (n + again) * node + sizeof(Map), left + 1,
		left * node + sizeof(Map), n + 1, n * node + sizeof(Map));
	return write(1, line, size_t(k)) == k ? 0 : 4;
}
