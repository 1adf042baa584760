// SPDX-License-Identifier: Apache-2.0
//
// functions.cc: each allocation function, whichever allocator provides it, has its requested size measured and reported once,
// and is net zero after it has been freed.

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

#include <heaptap/heaptap.hpp>

#include "check.h"

static long allocated, deallocated, requested, usable_in, usable_out;

static void on_allocated(size_t r, size_t u, const void *, void *)
{
	allocated++, requested += (long)r, usable_in += (long)u;
}
static void on_deallocated(size_t u, const void *, void *)
{
	deallocated++, usable_out += (long)u;
}

static volatile size_t N = 1000;
static void *volatile block;

template <typename Allocate, typename Free>
static void once(const char *name, size_t size, Allocate allocate, Free release, int allocations = 1)
{
	const int before = failures;
	allocated = deallocated = requested = usable_in = usable_out = 0;
	heaptap::measure thread, process(HEAPTAP_PROCESS);
	block = allocate();
	const size_t usable = malloc_usable_size(block);
	for (const heaptap::measured &m : {thread.read(), process.read()}) {
		CHECK(m.allocations, ==, allocations);
		CHECK(m.deallocations, ==, allocations - 1);
		CHECK(m.requested, ==, size);
		CHECK(m.added, ==, usable);
		CHECK(m.highest, ==, m.added);
		CHECK(m.largest, ==, usable);
	}
	release(block);
	for (const heaptap::measured &m : {thread.read(), process.read()}) {
		CHECK(m.allocations, ==, allocations);
		CHECK(m.deallocations, ==, allocations);
		CHECK(m.requested, ==, size);
		CHECK(m.added, ==, 0);
		CHECK(m.highest, ==, usable);
		CHECK(m.lowest, ==, 0);
	}
	CHECK(allocated, ==, allocations);
	CHECK(deallocated, ==, allocations);
	CHECK(requested, ==, size);
	CHECK(usable_in, ==, usable_out);
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
	free(p);
}

int main(int argc, char **)
{
	const heaptap_monitor monitor = {on_allocated, on_deallocated, nullptr};
	block = malloc(N); // whatever is done only once
	CHECK(malloc_usable_size(block), >=, N);
	free(block);
	CHECK(heaptap_monitor_add(&monitor), >, 0);

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
