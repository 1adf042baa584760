// SPDX-License-Identifier: Apache-2.0
//
// probe.c: linked into an agent, tells inside.c what is not to be seen from outside. ht_walk is wrapped (-Wl,--wrap).

#include "../src/memo.h"

HT_EXPORT u64 probe_walks;

u32 __real_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);
u32 __wrap_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);
u32 __wrap_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	probe_walks++;
	return __real_ht_walk(memo, pc, sp, fp);
}

// Is nothing special, so that events go the short way?
HT_EXPORT int probe_common(void);
int probe_common(void)
{
	return ht_load(&ht_state->common) != 0;
}
