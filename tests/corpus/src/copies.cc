// Accidental copies: parameters that are taken by value. What is copied is allocated by the caller, below its copy
// constructor. A vector of 1,000 ints has 4,000 bytes, a string of 100 characters 101, and a map<int, int> a node of 40
// bytes for each entry (32 of _Rb_tree_node_base, 8 of the pair).
//
//= prepare: allocations 102, bytes 8101, deallocations 102, leaked 0
//= vectors: allocations 100, bytes 400000, self-allocations 0, deallocations 100, freed 400000
//= vectors: temporary 100, temporary-bytes 400000, leaked 0, own-peak 4000
//= strings: allocations 200, bytes 20200, self-allocations 0, deallocations 200, temporary 200, leaked 0, own-peak 101
//= dictionaries: allocations 5000, bytes 200000, deallocations 5000, freed 200000
//= dictionaries: leaked 0, own-peak 4000, mean-size 40
//= main: allocations 5402, bytes 628301, deallocations 5402, leaked 0, own-peak 12101, peak 12101
#include <map>
#include <string>
#include <vector>

#include "corpus.h"

struct things {
	std::vector<int> vector;
	std::string string;
	std::map<int, int> map;
};

static void __attribute__((noinline)) take(std::vector<int> v)
{
	used(v.data());
}

static void __attribute__((noinline)) take(std::string s)
{
	used(&s[0]);
}

static void __attribute__((noinline)) take(std::map<int, int> m)
{
	used(&m);
}

static void prepare(things &t)
{
	t.vector.resize(1000); // 4,000 bytes
	t.string.assign(100, 'x'); // 101 bytes
	for (int i = 0; i < 100; i++)
		t.map[i] = i; // 40 bytes
}

static void vectors(const things &t)
{
	for (int i = 0; i < 100; i++)
		take(t.vector);
}

static void strings(const things &t)
{
	for (int i = 0; i < 200; i++)
		take(t.string);
}

static void dictionaries(const things &t)
{
	for (int i = 0; i < 50; i++)
		take(t.map);
}

int main()
{
	things t;
	prepare(t);
	vectors(t);
	strings(t);
	dictionaries(t);
	return 0;
}
