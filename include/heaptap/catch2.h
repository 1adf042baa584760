// SPDX-License-Identifier: Apache-2.0
//
// catch2.h: assertions on what code allocates, for Catch2 (2 and 3). Include it after Catch2's own header.
//
//     HEAPTAP_CHECK(allocations <= 2, parse(line));   // CHECK of the measure's fields, see heaptap_measured
//     HEAPTAP_REQUIRE(added == 0, { cache.fill(); cache.clear(); });
//
// The measure is the calling thread's. A test that does not run under heaptap fails.
#ifndef HEAPTAP_CATCH2_H
#define HEAPTAP_CATCH2_H

#include "heaptap.hpp"

// The code is the last argument, since it may contain commas.
#define HEAPTAP_CHECK(condition, ...) HEAPTAP_CATCH2_(CHECK, condition, __VA_ARGS__)
#define HEAPTAP_REQUIRE(condition, ...) HEAPTAP_CATCH2_(REQUIRE, condition, __VA_ARGS__)

// The condition begins with a field's name, hence the `.` before it.
#define HEAPTAP_CATCH2_(kind, condition, ...) \
	do { \
		const ::heaptap::measured heaptap_m = ::heaptap::measure_of([&] { __VA_ARGS__; }); \
		INFO(#__VA_ARGS__ << ": " << heaptap_m); \
		kind(::heaptap::loaded()); \
		kind(heaptap_m.condition); \
	} while (0)

#endif
