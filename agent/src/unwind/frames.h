// SPDX-License-Identifier: Apache-2.0
//
// frames.h: call frame information of generated code, which its maker has registered.
#ifndef HT_FRAMES_H
#define HT_FRAMES_H

#include "unwind/cfi.h"

// The section that covers an address outside of all modules; 0 if there is none.
int ht_frames_at(u64 at, struct ht_cfi_text *text);

// begin is a registered section, or was one.
void ht_frames_add(u64 begin);
void ht_frames_remove(u64 begin);

#endif
