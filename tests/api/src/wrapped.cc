// SPDX-License-Identifier: Apache-2.0
//
// wrapped.cc: what heaptap.hpp makes of the functions of heaptap.h: wrapped loaded|absent

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <heaptap/heaptap.hpp>

#include "check.h"

static int code_of_live()
{
	try {
		heaptap::live();
		return HEAPTAP_OK;
	} catch (const heaptap::no_answer &e) {
		return e.code();
	}
}

static int code_of_dump(const char *what)
{
	try {
		heaptap::dump(std::string(what));
		return HEAPTAP_OK;
	} catch (const heaptap::no_answer &e) {
		return e.code();
	}
}

int main(int argc, char **argv)
{
	const bool loaded = argc > 1 && strcmp(argv[1], "loaded") == 0;
	CHECK(heaptap::loaded(), ==, loaded);
	CHECK(heaptap::version(), ==, loaded ? HEAPTAP_VERSION : 0);
	CHECK(heaptap::stop(), ==, loaded);
	CHECK(heaptap::active(), ==, 0);
	CHECK(heaptap::start(), ==, loaded);
	CHECK(heaptap::active(), ==, loaded);
	heaptap::mark("begun");
	heaptap::thread_name("wrapper");
	char block[64];
	heaptap::range_name(block, sizeof(block), "block");
	if (!loaded) {
		CHECK(code_of_live(), ==, HEAPTAP_NOT_LOADED);
		CHECK(code_of_dump(""), ==, HEAPTAP_NOT_LOADED);
		return failures != 0;
	}
	const heaptap::live_blocks before = heaptap::live(60000);
	void *p = malloc(123456);
	const heaptap::live_blocks after = heaptap::live(60000);
	CHECK(after.bytes - before.bytes, ==, 123456);
	CHECK(after.blocks - before.blocks, ==, 1);
	CHECK(heaptap::summary(60000).find("requested") != std::string::npos, ==, 1);
	CHECK(heaptap::histogram(60000).find("128 KiB") != std::string::npos, ==, 1);
	CHECK(heaptap::dump(std::string("folded"), 60000).find("main 123456\n") != std::string::npos, ==, 1);
	CHECK(heaptap::dump(std::string("details size=123456..123456"), 60000)
			      .find("1 123456 123456 123456\n\tmain\t") == 0,
	      ==, 1);
	const std::string pprof = heaptap::dump(std::string("pprof"), 60000);
	CHECK(fwrite(pprof.data(), 1, pprof.size(), stdout), ==, pprof.size());
	CHECK(code_of_dump("nonsense"), ==, HEAPTAP_INVALID);
	CHECK(code_of_dump("size=many.."), ==, HEAPTAP_INVALID);
	try {
		heaptap::dump(-1, "summary", 60000);
		CHECK(0, ==, 1);
	} catch (const heaptap::no_answer &e) {
		CHECK(e.code(), ==, HEAPTAP_INVALID);
	}
	free(p);
	return failures != 0;
}
