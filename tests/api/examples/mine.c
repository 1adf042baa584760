// SPDX-License-Identifier: Apache-2.0
//
// mine.c: a template for monitors of one's own: counts the allocations of at least so many bytes.
//
//     cc -O2 -fPIC -shared -I .../include mine.c -o mine.so
//     heaptap run --monitor ./mine.so:min=1000 ./program

#include <stdio.h>

#include <heaptap/monitor.h>

static size_t min;
static unsigned long found;

// In all threads at once, and in signal handlers.
static void allocated(size_t requested, size_t usable, const void *address, void *user)
{
	(void)usable, (void)address, (void)user;
	if (requested >= min)
		__atomic_fetch_add(&found, 1, __ATOMIC_RELAXED);
}

static void report(void)
{
	fprintf(stderr, "mine: %lu allocations of at least %zu bytes\n", found, min);
}

HEAPTAP_MONITOR(options)
{
	static const struct heaptap_monitor monitor = {allocated, NULL, NULL};
	sscanf(options, "min=%zu", &min);
	if (heaptap_monitor_add(&monitor) > 0)
		atexit(report);
}
