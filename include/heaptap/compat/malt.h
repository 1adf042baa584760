// SPDX-License-Identifier: Apache-2.0
//
// malt.h: MALT's three functions on top of heaptap, for programs that were written for MALT.
//
// Each thread is enabled and disabled separately, and begins enabled. If the program defines malt_init_status to return
// 0, nothing is recorded until some thread calls malt_enable; that enables all other threads, too.
#ifndef HEAPTAP_COMPAT_MALT_H
#define HEAPTAP_COMPAT_MALT_H

#include "../heaptap.h"

#ifdef __cplusplus
extern "C" {
#endif

// Optionally defined by the program. If it returns 0, nothing is recorded before malt_enable.
__attribute__((weak)) int malt_init_status(void);

static inline void malt_enable(void)
{
	if (heaptap_loaded())
		heaptap_start(); // in case malt_init_status had stopped it
	heaptap_resume();
}

static inline void malt_disable(void)
{
	if (!heaptap_loaded() || heaptap_active()) // calls do not nest
		heaptap_pause();
}

__attribute__((constructor(102), unused)) static void heaptap_malt_begin(void)
{
	if (malt_init_status && !malt_init_status())
		heaptap_stop();
}

#ifdef __cplusplus
}
#endif

#endif
