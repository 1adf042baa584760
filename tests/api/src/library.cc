// SPDX-License-Identifier: Apache-2.0
//
// library.cc: measures of the C++ standard library against what libstdc++'s source says, on x86-64. And against this
// program's own operator new, which counts.

#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <heaptap/heaptap.hpp>

#include "check.h"

static thread_local unsigned long news, deletes, bytes;

void *operator new(size_t size)
{
	void *p = malloc(size);
	if (!p)
		throw std::bad_alloc();
	news++, bytes += size;
	return p;
}
void operator delete(void *p) noexcept
{
	deletes += p != nullptr;
	free(p);
}
void operator delete(void *p, size_t) noexcept
{
	deletes += p != nullptr;
	free(p);
}

// Measures what f does, all of which goes through the operators.
template <typename F> static heaptap::measured of(F f)
{
	news = deletes = bytes = 0;
	const heaptap::measured m = heaptap::measure_of(f);
	CHECK(m.allocations, ==, news);
	CHECK(m.deallocations, ==, deletes);
	CHECK(m.requested, ==, bytes);
	return m;
}

static void vectors()
{
	// _M_realloc_insert doubles: room for 1, 2, 4 ... 128 ints.
	heaptap::measured m = of([] {
		std::vector<int> v;
		for (int i = 0; i < 100; i++)
			v.push_back(i);
	});
	CHECK(m.allocations, ==, 8);
	CHECK(m.deallocations, ==, 8);
	CHECK(m.requested, ==, 4 * (1 + 2 + 4 + 8 + 16 + 32 + 64 + 128));
	CHECK(m.added, ==, 0);
	CHECK(m.highest, ==, 264 + 520); // the last two at once: glibc's usable sizes of 256 and 512 bytes
	CHECK(m.largest, ==, 512);
	m = of([] {
		std::vector<int> v;
		v.reserve(100);
		for (int i = 0; i < 100; i++)
			v.push_back(i);
	});
	CHECK(m.allocations, ==, 1);
	CHECK(m.requested, ==, 400);
}

static void maps()
{
	// A node is a pointer and two ints; a bucket a pointer. _Prime_rehash_policy: the first array has 13 buckets,
	// and when there are more elements than buckets the next one has at least twice as many, of __prime_list.
	const unsigned long buckets = 13 + 29 + 59 + 127 + 257 + 541 + 1109;
	heaptap::measured m = of([] {
		std::unordered_map<int, int> map;
		for (int i = 0; i < 1000; i++)
			map[i] = i;
	});
	CHECK(m.allocations, ==, 1000 + 7);
	CHECK(m.deallocations, ==, 1000 + 7);
	CHECK(m.requested, ==, 1000 * 16 + 8 * buckets);
	m = of([] {
		std::unordered_map<int, int> map;
		map.reserve(1000); // the first prime in the list from 1000 on is 1031
		for (int i = 0; i < 1000; i++)
			map[i] = i;
	});
	CHECK(m.allocations, ==, 1000 + 1);
	CHECK(m.requested, ==, 1000 * 16 + 8 * 1031);
}

static void strings()
{
	// Up to 15 characters lie in the object; capacity grows to twice what it was, and there is a NUL.
	CHECK(of([] { std::string s(15, 'x'); }).allocations, ==, 0);
	heaptap::measured m = of([] { std::string s(16, 'x'); });
	CHECK(m.allocations, ==, 1);
	CHECK(m.requested, ==, 17);
	m = of([] {
		std::string s(15, 'x');
		s += 'x';
	});
	CHECK(m.allocations, ==, 1);
	CHECK(m.requested, ==, 31);
}

static void pointers()
{
	// A control block is its virtual table's address and two counts of 4 bytes; then the object, or a pointer to
	// it.
	heaptap::measured m = of([] { auto p = std::make_shared<long>(1); });
	CHECK(m.allocations, ==, 1);
	CHECK(m.requested, ==, 16 + 8);
	m = of([] { std::shared_ptr<long> p(new long(1)); });
	CHECK(m.allocations, ==, 2);
	CHECK(m.requested, ==, 8 + 16 + 8);
}

static void streams()
{
	// The first overflow of a stringbuf makes room for 512 characters and a NUL; str() is a copy of the 100.
	heaptap::measured m = of([] {
		std::ostringstream out;
		for (int i = 0; i < 100; i++)
			out << 'x';
		std::string s = out.str();
	});
	CHECK(m.allocations, ==, 2);
	CHECK(m.requested, ==, 513 + 101);
	// A filebuf's buffer is BUFSIZ bytes by new[], which is new; fopen's FILE is malloc's.
	const auto open = [] { std::ifstream in("/dev/null"); };
	open();
	news = 0;
	m = heaptap::measure_of(open);
	CHECK(m.allocations, ==, 2);
	CHECK(m.deallocations, ==, 2);
	CHECK(news, ==, 1);
	CHECK(m.requested, >, BUFSIZ);
}

static void regexes()
{
	// Too many to derive: the operators are the witness.
	const auto search = [] {
		std::regex r("(a|b)*c[0-9]+x{2,5}$");
		std::smatch match;
		std::string s = "ababc123xxx";
		CHECK(std::regex_search(s, match, r), ==, 1);
	};
	search(); // whatever the locale does once
	heaptap::measured m = of(search);
	CHECK(m.allocations, >, 20);
	CHECK(m.added, ==, 0);
}

static void exceptions()
{
	// __cxa_allocate_exception: a header of 128 bytes before what is thrown, by malloc; freed at the end of the
	// handler.
	auto thrown = [] {
		try {
			throw 1;
		} catch (int) {
		}
	};
	thrown(); // whatever the unwinder does once
	heaptap::measured m = heaptap::measure_of(thrown);
	CHECK(m.allocations, ==, 1);
	CHECK(m.deallocations, ==, 1);
	CHECK(m.requested, ==, 128 + sizeof(int));
	CHECK(m.added, ==, 0);
}

static void threads()
{
	// A _State_impl: its virtual table's address and the function object, which here is a reference. The new thread
	// destroys it. The C library gives the second thread the stack of the first, and with it what it allocated for
	// that.
	int ran = 0;
	auto body = [&ran] { ran++; };
	for (int i = 0; i < 2; i++)
		std::thread(body).join();
	heaptap::measure process(HEAPTAP_PROCESS), thread;
	std::thread(body).join();
	heaptap::measured m = thread.read(), p = process.read();
	CHECK(m.allocations, ==, 1);
	CHECK(m.requested, ==, 16);
	CHECK(m.deallocations, ==, 0);
	CHECK(p.allocations, ==, 1);
	CHECK(p.deallocations, ==, 1);
	CHECK(p.added, ==, 0);
}

static void thread_locals()
{
	// The first use in a thread constructs the object and enters its destructor: __cxa_thread_atexit_impl has a
	// list of four pointers by calloc. Later uses do nothing; the thread's end takes both away.
	auto use = [] {
		thread_local std::vector<int> numbers(1000);
		numbers[0]++;
	};
	auto body = [&use] {
		const heaptap::measured first = heaptap::measure_of(use), second = heaptap::measure_of(use);
		CHECK(first.allocations, ==, 2);
		CHECK(first.requested, ==, 1000 * sizeof(int) + 4 * sizeof(void *));
		CHECK(first.deallocations, ==, 0);
		CHECK(second.allocations, ==, 0);
	};
	for (int i = 0; i < 2; i++) // see above
		std::thread(body).join();
	heaptap::measure process(HEAPTAP_PROCESS);
	std::thread(body).join();
	CHECK(process.read().allocations, ==, 1 + 2);
	CHECK(process.read().added, ==, 0);
}

static void teams()
{
	// libgomp keeps the team of the last parallel region: one of the same size allocates nothing.
	auto region = [](int blocks) {
#pragma omp parallel num_threads(4)
		for (int i = 0; i < blocks; i++)
			free(malloc(100));
	};
	region(1);
	region(1);
	heaptap::measure process(HEAPTAP_PROCESS), thread;
	region(10);
	heaptap::measured p = process.read(), m = thread.read();
	CHECK(p.allocations, ==, 4 * 10);
	CHECK(p.deallocations, ==, 4 * 10);
	CHECK(p.requested, ==, 4 * 10 * 100);
	CHECK(p.highest, <=, 4 * 104);
	CHECK(p.highest, >=, 104);
	CHECK(m.allocations, ==, 10);
}

int main()
{
	vectors();
	maps();
	strings();
	pointers();
	streams();
	regexes();
	exceptions();
	threads();
	thread_locals();
	teams();
	return failures != 0;
}
