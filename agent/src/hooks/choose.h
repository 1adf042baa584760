// SPDX-License-Identifier: Apache-2.0
//
// choose.h: which of the processes that load the agent are recorded.
#ifndef HT_CHOOSE_H
#define HT_CHOOSE_H

#include "base/base.h"

// Whether this image is to be recorded, according to HEAPTAP_CHILDREN, HEAPTAP_EXE and HEAPTAP_RANKS. Called once,
// before ht_environ_done. Reports invalid values on stderr and, without a recorder, the variables that need one.
int ht_is_chosen(void);
// Whether processes that this image forks are to be recorded.
int ht_forks_are_chosen(void);

#endif
