// SPDX-License-Identifier: Apache-2.0
//
// admit.h: how a process that may not enter the run's folder gets a spool all the same.
#ifndef HT_ADMIT_H
#define HT_ADMIT_H

#include "base/base.h"

// The most bytes of a spool's file name, with its end.
#define HT_SPOOL_NAME 64

// Asks the recorder of the run for a spool: a descriptor, and its file name; -1 if there is none to be had. Takes 200
// ms at most.
HT_COLD long ht_admit(const char *run, char name[HT_SPOOL_NAME]);

#endif
