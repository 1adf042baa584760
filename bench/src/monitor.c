// SPDX-License-Identifier: Apache-2.0
//
// monitor.c: what it costs to be told of events: a monitor whose callbacks do nothing, or with the option "measure" a
// measure of the main thread.
#include <heaptap/monitor.h>

static void allocated(size_t requested, size_t usable, const void *address, void *user)
{
	(void)requested, (void)usable, (void)address, (void)user;
}

static void deallocated(size_t usable, const void *address, void *user)
{
	(void)usable, (void)address, (void)user;
}

HEAPTAP_MONITOR(options)
{
	const struct heaptap_monitor monitor = {allocated, deallocated, NULL};
	if (strcmp(options, "measure") == 0)
		heaptap_measure_begin(HEAPTAP_THREAD);
	else
		heaptap_monitor_add(&monitor);
}
