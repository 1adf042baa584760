// SPDX-License-Identifier: Apache-2.0
//
// gtest.h: assertions on what code allocates, for GoogleTest.
//
//     HEAPTAP_EXPECT(allocations, LE, 2, parse(line));   // EXPECT_LE of the measure's field, see heaptap_measured
//     HEAPTAP_ASSERT(added, EQ, 0, { cache.fill(); cache.clear(); });
//
// The measure is the calling thread's. A test that does not run under heaptap fails; HEAPTAP_SKIP_UNLESS_LOADED() at
// its beginning skips it instead.
#ifndef HEAPTAP_GTEST_H
#define HEAPTAP_GTEST_H

#include <gtest/gtest.h>

#include "heaptap.hpp"

#define HEAPTAP_SKIP_UNLESS_LOADED() \
	do \
		if (!::heaptap::loaded()) \
			GTEST_SKIP() << "not run under heaptap"; \
	while (0)

// The code is the last argument, since it may contain commas.
#define HEAPTAP_EXPECT(field, comparison, limit, ...) HEAPTAP_GTEST_(EXPECT, field, comparison, limit, __VA_ARGS__)
#define HEAPTAP_ASSERT(field, comparison, limit, ...) HEAPTAP_GTEST_(ASSERT, field, comparison, limit, __VA_ARGS__)

#define HEAPTAP_GTEST_(kind, field, comparison, limit, ...) \
	do { \
		const ::heaptap::measured heaptap_m = ::heaptap::measure_of([&] { __VA_ARGS__; }); \
		kind##_TRUE(::heaptap::loaded()) << "not run under heaptap"; \
		kind##_##comparison(heaptap_m.field, static_cast<decltype(heaptap_m.field)>(limit)) \
			<< #__VA_ARGS__ << ": " << heaptap_m; \
	} while (0)

#endif
