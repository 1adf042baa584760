// SPDX-License-Identifier: Apache-2.0
//
// admit.h: gets a spool for a process that may not enter the run's folder.
#ifndef HT_ADMIT_H
#define HT_ADMIT_H

#include "base/base.h"

// The most bytes of a spool's file name, with its NUL.
#define HT_SPOOL_NAME 64

// Asks the recorder of the run for a spool. Returns a descriptor, and its file name; -1 if it gets none. Takes at most
// 200 ms.
HT_COLD long ht_admit(const char *run, char name[HT_SPOOL_NAME]);

#endif
