// SPDX-License-Identifier: Apache-2.0
//
// compat.c: the C functions of other tools' preloaded libraries, which programs look up with dlsym. The headers in
// include/heaptap/compat offer the same functions on the same state.

#include <stdbool.h>

#include "base/local.h"
#include "base/sys.h"
#include "hooks/api.h"
#include "hooks/shared.h"

// ---------------------------------------------------------------------------------------------------------------------
// AllocMonitor: whether its monitors are called at all, and whether the calling thread is reported

HT_EXPORT void alloc_monitor_start(void);
HT_EXPORT void alloc_monitor_stop(void);
HT_EXPORT bool alloc_monitor_stop_thread_reporting(void);
HT_EXPORT void alloc_monitor_start_thread_reporting(void);

static void set_stopped(u32 stopped)
{
	u32 *state = ht_shared(HEAPTAP_ALLOC_MONITOR_STOPPED, sizeof(*state));
	if (state)
		ht_store(state, stopped);
}

void alloc_monitor_start(void)
{
	set_stopped(0);
}

void alloc_monitor_stop(void)
{
	set_stopped(1);
}

bool alloc_monitor_stop_thread_reporting(void)
{
	bool was = !ht_local.unreported;
	ht_local.hidden += was;
	ht_local.unreported = 1;
	return was;
}

void alloc_monitor_start_thread_reporting(void)
{
	if (ht_local.unreported && ht_local.hidden)
		ht_local.hidden--;
	ht_local.unreported = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// MALT: each thread is switched on and off separately; calls do not nest

HT_EXPORT void malt_enable(void);
HT_EXPORT void malt_disable(void);
HT_EXPORT void maltEnable(void);
HT_EXPORT void maltDisable(void);

void malt_enable(void)
{
	const struct heaptap_api *api = heaptap_api(sizeof(*api));
	if (!api)
		return;
	api->start();
	api->resume();
}

void malt_disable(void)
{
	const struct heaptap_api *api = heaptap_api(sizeof(*api));
	if (api && api->active())
		api->pause();
}

void maltEnable(void)
{
	malt_enable();
}

void maltDisable(void)
{
	malt_disable();
}
