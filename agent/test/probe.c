// SPDX-License-Identifier: Apache-2.0
//
// probe.c: linked into an agent, shows inside.c what is not visible from outside. ht_walk is wrapped (-Wl,--wrap).

#include "../src/record/thread.h"
#include "../src/spool/chunks.h"
#include "../src/unwind/memo.h"

HT_EXPORT u64 probe_walks;
// Called by the next walk, as if a signal handler interrupted it; null: nothing.
HT_EXPORT void (*probe_signal)(void);

u32 __real_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);
u32 __wrap_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp);
u32 __wrap_ht_walk(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	void (*handler)(void) = probe_signal;
	probe_walks++;
	probe_signal = 0;
	if (handler)
		handler();
	return __real_ht_walk(memo, pc, sp, fp);
}

// Whether events take the fast path.
HT_EXPORT int probe_common(void);
int probe_common(void)
{
	return ht_load(&ht_state->common) != 0;
}

// Whether the thread's records go to its stream's chunk.
HT_EXPORT int probe_in_chunk(void);
int probe_in_chunk(void)
{
	const struct ht_thread *t = ht_local.thread;
	return t->chunk == (u8 *)ht_chunk_at(t->stream->chunk) && t->at - (u64)t->chunk <= HT_CHUNK_SIZE &&
	       ht_no_thread.stream->busy == ~0ull;
}
