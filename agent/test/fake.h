// SPDX-License-Identifier: Apache-2.0
//
// fake.h: runs the unwinder outside of the agent.
#ifndef HT_FAKE_H
#define HT_FAKE_H

#include "../src/spool/arrays.h"
#include "../src/unwind/memo.h"
#include "../src/unwind/cct.h"
#include "../src/unwind/modules.h"
#include "../src/unwind/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

void fake_start(void);
// The pcs of a stack, leaf first.
u32 fake_path(u32 node, u64 *pcs, u32 most, int *truncated);

#ifdef __cplusplus
}
#endif
#endif
