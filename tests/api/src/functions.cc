// SPDX-License-Identifier: Apache-2.0
//
// functions.cc: each allocation function, whichever allocator provides it, has its requested size measured and reported
// once, and is net zero after it has been freed.

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <optional>

#include <heaptap/heaptap.hpp>

#include "check.h"

static long allocated, deallocated, requested, usable_in, usable_out;
static const void *last_in, *last_out;

static void on_allocated(size_t r, size_t u, const void *p, void *)
{
	allocated++, requested += (long)r, usable_in += (long)u, last_in = p;
}
static void on_deallocated(size_t u, const void *p, void *)
{
	deallocated++, usable_out += (long)u, last_out = p;
}
static const heaptap_monitor monitor = {on_allocated, on_deallocated, nullptr};

static volatile size_t N = 1000;
static void *volatile block;

static constexpr int MONITOR = 1, MEASURE = 2;

template <typename Allocate, typename Free>
static void one(int told, size_t size, Allocate allocate, Free release, int allocations)
{
	std::optional<heaptap::measure> thread, process;
	allocated = deallocated = requested = usable_in = usable_out = 0;
	const int number = told & MONITOR ? heaptap_monitor_add(&monitor) : 0;
	if (told & MEASURE)
		thread.emplace(), process.emplace(HEAPTAP_PROCESS);
	block = allocate();
	const void *const p = block;
	const size_t usable = malloc_usable_size(block);
	if (told & MEASURE)
		for (const heaptap::measured &m : {thread->read(), process->read()}) {
			CHECK(m.allocations, ==, allocations);
			CHECK(m.deallocations, ==, allocations - 1);
			CHECK(m.requested, ==, size);
			CHECK(m.added, ==, usable);
			CHECK(m.highest, ==, m.added);
			CHECK(m.largest, ==, allocations == 1 ? size : size - 1000); // before a realloc
		}
	if (told & MONITOR) {
		CHECK(last_in == p, ==, 1);
		CHECK(usable_in - usable_out, ==, usable);
	}
	release(block);
	if (told & MEASURE)
		for (const heaptap::measured &m : {thread->read(), process->read()}) {
			CHECK(m.allocations, ==, allocations);
			CHECK(m.deallocations, ==, allocations);
			CHECK(m.requested, ==, size);
			CHECK(m.added, ==, 0);
			CHECK(m.highest, ==, usable);
			CHECK(m.lowest, ==, 0);
		}
	if (told & MONITOR) {
		CHECK(heaptap_monitor_remove(number), ==, HEAPTAP_OK);
		CHECK(last_out == p, ==, 1);
		CHECK(allocated, ==, allocations);
		CHECK(deallocated, ==, allocations);
		CHECK(requested, ==, size);
		CHECK(usable_in, ==, usable_out);
	}
}

// Twice in each way: with a call stack that is new, and with the same one again.
template <typename Allocate, typename Free>
static void once(const char *name, size_t size, Allocate allocate, Free release, int allocations = 1)
{
	const int before = failures;
	for (const int told : {MONITOR, MONITOR, MEASURE, MEASURE, MONITOR | MEASURE, MONITOR | MEASURE})
		one(told, size, allocate, release, allocations);
	if (failures != before)
		fprintf(stderr, "... of %s\n", name);
}

#define ONCE(expression, release) \
	once( \
		#expression, N, [] { return (void *)(expression); }, [](void *p) { release; })

static void *aligned(size_t alignment, size_t size)
{
	void *p = nullptr;
	return posix_memalign(&p, alignment, size) == 0 ? p : nullptr;
}

static void failing(bool throws)
{
	volatile size_t huge = ~size_t(0) / 4;
	void *volatile p = malloc(100); // the compiler is not to know what becomes of it
	allocated = deallocated = requested = usable_in = usable_out = 0;
	const int number = heaptap_monitor_add(&monitor);
	heaptap::measure m;
	CHECK(malloc(huge) == nullptr, ==, 1);
	CHECK(calloc(huge, 8) == nullptr, ==, 1);
	CHECK(realloc(p, huge) == nullptr, ==, 1);
	CHECK(reallocarray(p, huge, huge) == nullptr, ==, 1);
	try {
		if (throws) {
			CHECK(new (std::nothrow) char[huge] == nullptr, ==, 1);
			block = operator new(huge);
			CHECK(0, ==, 1);
		}
	} catch (const std::bad_alloc &) {
	}
	// Exceptions were allocated and freed, one of them inside of the nothrow form.
	CHECK(m.read().allocations, ==, m.read().deallocations);
	CHECK(m.read().allocations, <=, 2);
	CHECK(m.read().added, ==, 0);
	CHECK(usable_in, ==, usable_out); // a failed realloc is both
	CHECK(heaptap_monitor_remove(number), ==, HEAPTAP_OK);
	free(p);
}

int main(int argc, char **)
{
	for (int i = 0; i < 100; i++) { // whatever is done only once; and a thread's first events go a longer way
		block = malloc(N);
		CHECK(malloc_usable_size(block), >=, N);
		free(block);
	}

	ONCE(malloc(N), free(p));
	ONCE(calloc(N, 1), free(p));
	ONCE(calloc(N / 10, 10), free(p));
	ONCE(realloc(nullptr, N), free(p));
	ONCE(reallocarray(nullptr, N / 10, 10), free(p));
	ONCE(aligned(64, N), free(p));
	ONCE(aligned_alloc(64, N), free(p));
	ONCE(memalign(256, N), free(p));
	ONCE(valloc(N), free(p));
	ONCE(operator new(N), operator delete(p));
	ONCE(operator new(N), operator delete(p, N));
	ONCE(operator new[](N), operator delete[](p));
	ONCE(operator new(N, std::nothrow), operator delete(p, std::nothrow));
	ONCE(operator new[](N, std::nothrow), operator delete[](p, std::nothrow));
	ONCE(operator new(N, std::align_val_t(128)), operator delete(p, std::align_val_t(128)));
	ONCE(operator new[](N, std::align_val_t(128)), operator delete[](p, std::align_val_t(128)));
	ONCE(operator new(N, std::align_val_t(128)), operator delete(p, N, std::align_val_t(128)));
	ONCE(operator new[](N), operator delete[](p, N));
	ONCE(operator new[](N, std::align_val_t(128)), operator delete[](p, N, std::align_val_t(128)));
	ONCE(operator new(N, std::align_val_t(128), std::nothrow), operator delete(p, std::align_val_t(128),
										   std::nothrow));
	ONCE(operator new[](N, std::align_val_t(128), std::nothrow), operator delete[](p, std::align_val_t(128),
										       std::nothrow));
	once(
		"strdup", 12, [] { return (void *)strdup("eleven char"); }, [](void *p) { free(p); });
	once(
		"realloc", N + 5 * N, [] { return realloc(malloc(N), 5 * N); }, [](void *p) { free(p); }, 2);
	failing(argc < 2);
	return failures != 0;
}
