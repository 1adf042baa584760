// SPDX-License-Identifier: Apache-2.0
//
// choose.h: which of the processes that load the agent are recorded.
#ifndef HT_CHOOSE_H
#define HT_CHOOSE_H

#include "base/base.h"

// Is this image to be recorded? By HEAPTAP_CHILDREN, HEAPTAP_EXE and HEAPTAP_RANKS; asked once, while the environment
// is at hand. Says on stderr what is wrong with these, and, without a recorder, which variables need one.
int ht_is_chosen(void);
// Are processes that this image forks?
int ht_forks_are_chosen(void);

#endif
