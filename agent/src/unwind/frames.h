// SPDX-License-Identifier: Apache-2.0
//
// frames.h: call frame information of generated code, as registered by the JIT.
#ifndef HT_FRAMES_H
#define HT_FRAMES_H

#include "unwind/cfi.h"

// Returns the section that covers an address outside of all modules; 0 if there is none.
int ht_frames_at(u64 at, struct ht_cfi_text *text);

// `begin` is a section that was registered, or is no longer.
void ht_frames_add(u64 begin);
void ht_frames_remove(u64 begin);

#endif
