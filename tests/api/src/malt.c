// SPDX-License-Identifier: Apache-2.0
//
// malt.c: a program written for MALT, which begins disabled: malt loaded|absent

#include <stdlib.h>
#include <string.h>

#include <heaptap/compat/malt.h>

#include "check.h"

int malt_init_status(void)
{
	return 0;
}

int main(int argc, char **argv)
{
	int loaded = argc > 1 && strcmp(argv[1], "loaded") == 0;
	CHECK(heaptap_active(), ==, 0);
	free(malloc(2001));
	malt_enable();
	CHECK(heaptap_active(), ==, loaded);
	free(malloc(1001));
	malt_disable();
	malt_disable();
	CHECK(heaptap_active(), ==, 0);
	free(malloc(2002));
	malt_enable();
	CHECK(heaptap_active(), ==, loaded);
	free(malloc(1002));
	return failures != 0;
}
