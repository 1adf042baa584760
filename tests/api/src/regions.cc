// SPDX-License-Identifier: Apache-2.0
//
// regions.cc: notes of all kinds, in an order that the test knows.

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <heaptap/heaptap.hpp>

#include "check.h"

int main()
{
	heaptap_thread_name("the main thread");
	heaptap_range_name((void *)0x123456789000, 4096, "a page");
	{
		heaptap::region event("event", {7, -8});
		free(malloc(1001));
		try {
			heaptap::region module("module", {1, 2, 3, 4});
			free(malloc(1002));
			throw std::runtime_error("through a region");
		} catch (const std::exception &) {
		}
		free(malloc(1003));
		heaptap_mark("amid the event");
	}
	for (int i = 0; i < 10000; i++)
		heaptap_region_begin("deep", nullptr, 0);
	for (int i = 0; i < 10000; i++)
		heaptap_region_end("deep");
	heaptap_region_begin("forks", nullptr, 0);
	if (fork() == 0) {
		heaptap_region_begin("in the child", nullptr, 0);
		heaptap_region_end("in the child");
		heaptap_region_end("forks");
		_exit(0);
	}
	CHECK(wait(nullptr), >, 0);
	heaptap_region_end("forks");
	heaptap_region_begin("", nullptr, 0);
	heaptap_region_end(nullptr);
	heaptap_region_begin((std::string(999, 'x') + "\xc3\xa4").c_str(), nullptr, 0); // cut before its last character
	heaptap_region_begin("left open", nullptr, 0);
	return failures != 0;
}
