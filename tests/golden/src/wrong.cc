// SPDX-License-Identifier: Apache-2.0
//
// wrong.cc: blocks that are freed by functions that do not belong to those that allocated them.
#include <cstdlib>
#include <new>

static void *volatile hold;

__attribute__((noinline)) static void *by_malloc(size_t n)
{
	hold = malloc(n);
	return hold;
}

__attribute__((noinline)) static void *by_new(size_t n)
{
	hold = ::operator new(n);
	return hold;
}

__attribute__((noinline)) static void *by_array(size_t n)
{
	hold = ::operator new[](n);
	return hold;
}

int main()
{
	for (int i = 0; i < 20; i++)
		::operator delete(by_malloc(40));
	free(by_new(24));
	::operator delete(by_array(8));
	::operator delete(by_new(88), size_t(80));
	::operator delete(by_new(88), size_t(88));
	return 0;
}
