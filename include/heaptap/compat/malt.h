// SPDX-License-Identifier: Apache-2.0
//
// malt.h: for programs that were written for MALT: its three functions, by heaptap.
//
// Each thread is switched for itself and begins enabled. If the program defines malt_init_status to return 0, nothing is recorded
// until some thread calls malt_enable; then the others are enabled, too.
#ifndef HEAPTAP_COMPAT_MALT_H
#define HEAPTAP_COMPAT_MALT_H

#include "../heaptap.h"

#ifdef __cplusplus
extern "C" {
#endif

// Defined by the program, if it wants to: 0, and nothing is recorded before malt_enable.
__attribute__((weak)) int malt_init_status(void);

static inline void malt_enable(void)
{
	if (heaptap_loaded())
		heaptap_start(); // whatever malt_init_status had stopped
	heaptap_resume();
}

static inline void malt_disable(void)
{
	if (!heaptap_loaded() || heaptap_active()) // twice is once
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
