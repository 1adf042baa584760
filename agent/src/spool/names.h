// SPDX-License-Identifier: Apache-2.0
//
// names.h: texts to which records refer by number.
#ifndef HT_NAMES_H
#define HT_NAMES_H

#include "base/base.h"

#define HT_NAME_MAX 1000 // bytes; HEAPTAP_NAME_MAX of heaptap.h

// Returns the id of a text, and writes the text to the log of names if it is not there yet; 0 if there is no room
// (counted). Never waits; may be called in a signal handler.
u32 ht_name_id(const char *text);

#endif
