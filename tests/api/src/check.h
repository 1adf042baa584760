// SPDX-License-Identifier: Apache-2.0
//
// check.h: what the programs of this folder say of themselves. They end with status 1 if something did not hold.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(a, relation, b) \
	do { \
		const long long check_a = (long long)(a), check_b = (long long)(b); \
		if (!(check_a relation check_b)) { \
			fprintf(stderr, "%s:%d: %s is %lld, must be %s %s = %lld\n", __FILE__, __LINE__, #a, check_a, \
				#relation, #b, check_b); \
			failures++; \
		} \
	} while (0)

#endif
