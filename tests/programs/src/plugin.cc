// SPDX-License-Identifier: Apache-2.0
//
// plugin.cc: a C++ library that a C program loads with RTLD_LOCAL (local.c), so that its operator new is not in
// the global scope.
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

static volatile size_t huge = size_t(1) << 62;

extern "C" __attribute__((noinline)) int plugin_work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		int *p = new int[100];
		p[0] = i;
		sum += p[0] % 7;
		delete[] p;
	}
	return sum;
}

extern "C" __attribute__((noinline)) int plugin_throws(int n)
{
	int caught = 0;
	for (int i = 0; i < n; i++) {
		try {
			char *volatile p = static_cast<char *>(::operator new(huge));
			::operator delete(p);
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	return caught;
}

extern "C" __attribute__((noinline)) int plugin_strings(int n)
{
	std::vector<std::string> v;
	for (int i = 0; i < n; i++)
		v.push_back("a string that is too long to lie within the object itself: " + std::to_string(i));
	return int(v.size());
}
