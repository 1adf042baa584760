// SPDX-License-Identifier: Apache-2.0
//
// names.h: texts that records refer to by a number.
#ifndef HT_NAMES_H
#define HT_NAMES_H

#include "base/base.h"

#define HT_NAME_MAX 1000 // bytes; HEAPTAP_NAME_MAX of heaptap.h

// The id of a text, which is written to the log of names if it is not there yet; 0 if there is no room (counted). Waits
// for nobody; in a signal handler, too.
u32 ht_name_id(const char *text);

#endif
