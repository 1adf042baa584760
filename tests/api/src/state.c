// SPDX-License-Identifier: Apache-2.0
//
// state.c: what each function answers, with the agent and without: state loaded|absent

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <heaptap/heaptap.h>

#include "check.h"

static int loaded_before_main = -1;

__attribute__((constructor)) static void early(void)
{
	loaded_before_main = heaptap_loaded();
}

static void nothing(size_t requested, size_t usable, const void *address, void *user)
{
	(void)requested, (void)usable, (void)address, (void)user;
}

static void absent(void)
{
	struct heaptap_measured m;
	struct heaptap_monitor monitor = {nothing, NULL, NULL};
	memset(&m, 255, sizeof(m));
	CHECK(heaptap_loaded(), ==, 0);
	CHECK(heaptap_version(), ==, 0);
	CHECK(heaptap_active(), ==, 0);
	CHECK(heaptap_start(), ==, HEAPTAP_NOT_LOADED);
	CHECK(heaptap_stop(), ==, HEAPTAP_NOT_LOADED);
	CHECK(heaptap_measure_begin(HEAPTAP_THREAD), ==, HEAPTAP_NOT_LOADED);
	CHECK(heaptap_measure_read(1, &m), ==, HEAPTAP_NOT_LOADED);
	CHECK(m.allocations + m.largest, ==, 0);
	CHECK(heaptap_measure_end(1, &m), ==, HEAPTAP_NOT_LOADED);
	CHECK(heaptap_monitor_add(&monitor), ==, HEAPTAP_NOT_LOADED);
	CHECK(heaptap_monitor_remove(1), ==, HEAPTAP_NOT_LOADED);
	heaptap_pause();
	heaptap_resume();
	heaptap_mark("mark");
	heaptap_region_begin("region", NULL, 0);
	heaptap_region_end("region");
	heaptap_thread_name("thread");
	heaptap_range_name(&m, sizeof(m), "range");
}

static void switches(void)
{
	CHECK(heaptap_active(), ==, 1);
	heaptap_pause();
	heaptap_pause();
	heaptap_resume();
	CHECK(heaptap_active(), ==, 0);
	heaptap_resume();
	CHECK(heaptap_active(), ==, 1);
	heaptap_resume(); // one too many
	CHECK(heaptap_active(), ==, 1);
	CHECK(heaptap_stop(), ==, HEAPTAP_OK);
	CHECK(heaptap_stop(), ==, HEAPTAP_OK);
	CHECK(heaptap_active(), ==, 0);
	CHECK(heaptap_start(), ==, HEAPTAP_OK);
	CHECK(heaptap_start(), ==, HEAPTAP_OK);
	CHECK(heaptap_active(), ==, 1);
}

static void measures(void)
{
	struct heaptap_measured m;
	int64_t nested[HEAPTAP_MEASURES], common[HEAPTAP_MEASURES];
	CHECK(heaptap_measure_begin(77), ==, HEAPTAP_INVALID);
	CHECK(heaptap_measure_begin(HEAPTAP_PROCESS | HEAPTAP_EXCLUSIVE), ==, HEAPTAP_INVALID);
	CHECK(heaptap_measure_read(0, &m), ==, HEAPTAP_INVALID);
	CHECK(heaptap_measure_read(HEAPTAP_NOT_LOADED, &m), ==, HEAPTAP_INVALID);
	CHECK(heaptap_measure_end(12345678, &m), ==, HEAPTAP_INVALID);
	for (int i = 0; i < HEAPTAP_MEASURES; i++) {
		CHECK(nested[i] = heaptap_measure_begin(HEAPTAP_THREAD), >, 0);
		CHECK(common[i] = heaptap_measure_begin(HEAPTAP_PROCESS), >, 0);
	}
	CHECK(heaptap_measure_begin(HEAPTAP_THREAD), ==, HEAPTAP_FULL);
	CHECK(heaptap_measure_begin(HEAPTAP_PROCESS), ==, HEAPTAP_FULL);
	free(malloc(10));
	CHECK(heaptap_measure_end(nested[3], &m), ==, HEAPTAP_OK); // and all that are inside
	CHECK(m.allocations, ==, 1);
	CHECK(heaptap_measure_read(nested[4], &m), ==, HEAPTAP_INVALID);
	CHECK(m.allocations, ==, 0);
	CHECK(heaptap_measure_end(nested[2], &m), ==, HEAPTAP_OK);
	CHECK(m.allocations, ==, 1);
	CHECK(heaptap_measure_end(nested[2], &m), ==, HEAPTAP_INVALID);
	CHECK(heaptap_measure_end(nested[0], &m), ==, HEAPTAP_OK);
	for (int i = 0; i < HEAPTAP_MEASURES; i++) {
		CHECK(heaptap_measure_end(common[i], &m), ==, HEAPTAP_OK);
		CHECK(m.allocations, ==, 1);
		CHECK(m.added, ==, 0);
	}
	CHECK(heaptap_measure_end(common[0], &m), ==, HEAPTAP_INVALID);
	heaptap_hide();
	nested[0] = heaptap_measure_begin(HEAPTAP_THREAD);
	free(malloc(10));
	heaptap_unhide();
	heaptap_unhide(); // one too many
	free(malloc(20));
	CHECK(heaptap_measure_end(nested[0], &m), ==, HEAPTAP_OK);
	CHECK(m.requested, ==, 20);
}

static void monitors(void)
{
	struct heaptap_monitor none = {NULL, NULL, NULL}, one = {nothing, NULL, NULL};
	int numbers[HEAPTAP_MONITORS];
	CHECK(heaptap_monitor_add(&none), ==, HEAPTAP_INVALID);
	CHECK(heaptap_monitor_add(NULL), ==, HEAPTAP_INVALID);
	for (int i = 0; i < HEAPTAP_MONITORS; i++)
		CHECK(numbers[i] = heaptap_monitor_add(&one), >, 0);
	CHECK(heaptap_monitor_add(&one), ==, HEAPTAP_FULL);
	for (int i = 0; i < HEAPTAP_MONITORS; i++)
		CHECK(heaptap_monitor_remove(numbers[i]), ==, HEAPTAP_OK);
	CHECK(heaptap_monitor_remove(numbers[0]), ==, HEAPTAP_INVALID);
	CHECK(heaptap_monitor_remove(-5), ==, HEAPTAP_INVALID);
	CHECK(heaptap_monitor_wait(), ==, HEAPTAP_OK);
}

// More of them than a thread needs for anything, and texts of all kinds.
static void names(void)
{
	static char text[5000];
	int64_t ids[6] = {1, -2, INT64_MAX, INT64_MIN, 5, 6};
	memset(text, 'x', sizeof(text) - 1);
	heaptap_mark(NULL);
	heaptap_mark("");
	heaptap_mark(text);
	heaptap_mark("\xff\xfe\x80");
	heaptap_region_end("never begun");
	for (size_t i = 0; i < 8; i++)
		heaptap_region_begin("ids", ids, i);
	heaptap_region_end("ids");
	heaptap_region_begin("no ids", NULL, 3);
	for (int i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "mark %d", i);
		heaptap_mark(text);
	}
}

static void handler(int signal)
{
	(void)signal;
	heaptap_mark("handler");
	heaptap_pause();
	heaptap_region_begin("handler", NULL, 0);
	free(malloc(10));
	heaptap_region_end("handler");
	heaptap_resume();
}

static void signals(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	CHECK(heaptap_active(), ==, 1);
}

int main(int argc, char **argv)
{
	int with = argc > 1 && strcmp(argv[1], "loaded") == 0;
	CHECK(loaded_before_main, ==, with);
	errno = 77;
	if (with) {
		CHECK(heaptap_version(), >=, HEAPTAP_VERSION);
		switches();
		measures();
		monitors();
		names();
		signals();
	} else {
		absent();
	}
	CHECK(errno, ==, 77);
	return failures != 0;
}
