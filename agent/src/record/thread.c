// SPDX-License-Identifier: Apache-2.0
//
// thread.c: what the agent keeps for every thread.
//
// A thread's state is made at its first event and found through one initial-exec TLS pointer. There is no reliable
// notification when a thread ends: destructors of keys run before the C library frees what it keeps for the thread. So
// states are never freed. A thread that needs one checks a few old ones for whether their owner still exists (tgkill
// with signal 0), and takes over a state without an owner. So there are at most about twice as many states as threads
// ever lived at once.
//
// A signal handler that interrupts the agent while it works on a thread's state gets a state of its own, one level up,
// with a stream of its own; so nothing that it allocates is lost, and nothing that it does can disturb the interrupted
// event. It may also leave by longjmp. The next event then finds the state busy although no event is in progress. If
// that event's stack position is at or above the recorded one, the old event must be over, and its state is reset.
// Below it we cannot know, and use the level above.

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>

#include "record/thread.h"
#include "base/base.h"
#include "base/filter.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/chunks.h"
#include "spool/sum.h"
#include "record/observer.h"
#include "record/regions.h"
#include "record/slow.h"

#define MAX_LEVEL 4

enum { STATE_FREE = 0, STATE_LIVE = 1, STATE_TAKEN = 2 };

static struct ht_stream no_stream = {.busy = ~0ull};
struct ht_thread ht_no_thread = {.stream = &no_stream, .deep = ~0ull, .deepest = ~0ull};
__thread struct ht_local ht_local __attribute__((tls_model("initial-exec"))) = {.thread = &ht_no_thread};

static struct ht_thread *all; // head of the list of all states
static struct ht_thread *inspected; // where the last search for dead owners stopped
u32 ht_process;
u32 ht_pid;

static int is_dead(u32 tid)
{
	return ht_sys3(__NR_tgkill, ht_pid, tid, 0) == -3 /* ESRCH */;
}

// ---------------------------------------------------------------------------------------------------------------------
// Handing over chunks

static u64 count_events(const u8 *chunk, u32 fill)
{
	u64 n = 0;
	for (u32 at = HT_CHUNK_HEADER; at < fill;) {
		u32 class = *(const u64 *)(chunk + at) >> (HT_KIND_SHIFT + HT_CLASS_SHIFT) & 3;
		n += class == HT_CLASS_STACK || class == HT_CLASS_SHORT;
		at += class == HT_CLASS_STACK ? 24 : 16;
	}
	return n;
}

static void lose(struct ht_stream *s, u64 events)
{
	ht_store(&s->lost, s->lost + events);
	__atomic_fetch_add(&ht_header->counters[HT_C_LOST], events, __ATOMIC_RELAXED);
}

// Writes the current chunk to the spill file, or loses it, so that its memory can be reused. A process that cannot
// reach that file, in another root or as another user, keeps the chunk in the spool if it can get another one.
static u32 spill(struct ht_thread *t)
{
	struct ht_chunk *c = (struct ht_chunk *)t->chunk;
	u32 index = HT_NONE;
	int r = c->fill > HT_CHUNK_HEADER ? ht_chunk_spill(c) : 0;
	if (r == HT_UNREACHABLE)
		index = ht_chunk_add();
	if (r < 0 && index == HT_NONE)
		lose(t->stream, count_events(t->chunk, c->fill));
	return index;
}

static void start_chunk(struct ht_thread *t, struct ht_chunk *c, u64 seq)
{
	struct ht_stream *s = t->stream;
	ht_store(&c->seal, 0);
	HT_FENCE();
	c->magic = HT_CHUNK_MAGIC;
	c->stream = t->slot;
	c->uid = s->uid;
	c->fill = HT_CHUNK_HEADER;
	c->tid = s->tid;
	c->proc = s->proc;
	c->level = s->level;
	c->start = s->start;
	ht_store(&c->next, HT_NONE);
	ht_store_release(&c->seq, seq);
	t->chunk = (u8 *)c;
	t->at = (u64)c + HT_CHUNK_HEADER;
	t->limit = ht_chunk_limit(c);
	t->timed = HT_TIMED;
	t->fast_limit = 0;
	t->pos_base = (seq << HT_POS_SHIFT) - (u64)c;
}

void ht_thread_next_chunk(struct ht_thread *t)
{
	struct ht_chunk *c = (struct ht_chunk *)t->chunk;
	u64 seq = c->seq;
	u32 index = HT_NONE;

	if (ht_chunk_more(c) == 0) {
		t->limit = ht_chunk_limit(c);
		if (t->fast_limit)
			t->fast_limit = t->limit;
		return;
	}
	u32 fill = (u32)(t->at - (u64)c);
	ht_store(&c->seal, ht_sum_chunk(c, fill));
	ht_store_release(&c->fill, fill);
	if (ht_load(&ht_header->recorder_state) != HT_RECORDER_NONE)
		index = ht_chunk_take();
	if (index == HT_NONE)
		index = spill(t);
	if (index == HT_NONE) {
		start_chunk(t, c, seq + 1);
	} else {
		start_chunk(t, ht_chunk_at(index), seq + 1);
		ht_store_release(&c->next, index);
		ht_store(&t->stream->chunk, index);
	}
	ht_store_release(&t->stream->pos, t->pos_base + t->at);
}

// ---------------------------------------------------------------------------------------------------------------------
// Streams

static int open_stream(struct ht_thread *t, u32 tid, u32 level, u64 sp)
{
	u32 slot = ht_stream_take(), index;
	struct ht_stream *s;

	if (slot == HT_NONE)
		return -1;
	index = ht_chunk_take();
	if (index == HT_NONE) // chunks that had to stay in the spool take room in the pool
		index = ht_chunk_add();
	if (index == HT_NONE) {
		ht_stream_give(slot);
		return -1;
	}
	s = &ht_streams[slot];
	s->busy = sp;
	s->lost = 0;
	s->uid = __atomic_fetch_add(&ht_header->next_uid, 1, __ATOMIC_RELAXED);
	s->proc = ht_process;
	s->tid = tid;
	s->level = level;
	s->counts = 0;
	s->end = 0;
	s->first_chunk = s->chunk = index;
	s->pos = HT_CHUNK_HEADER;
	__builtin_memset(s->name, 0, sizeof(s->name));
	ht_sys5(__NR_prctl, 16 /* PR_GET_NAME */, s->name, 0, 0, 0);
	s->start = ht_clock();
	s->sum = ht_sum_stream(s);
	t->stream = s;
	t->slot = slot;
	if (t->counts)
		ht_counts_enter(t);
	start_chunk(t, ht_chunk_at(index), 0);
	// All later records have later timestamps than a clock that was read before this became visible.
	ht_store_release(&s->state, HT_STREAM_LIVE);
	return 0;
}

// The thread is gone. The recorder reads what is left and frees the slot; without a recorder, we free it.
static void close_stream(struct ht_thread *t)
{
	struct ht_stream *s = t->stream;
	if (s == &no_stream)
		return;
	ht_store(&s->busy, 0);
	if (!ht_load(&s->end))
		ht_store(&s->end, ht_clock());
	if (ht_load(&ht_header->recorder_state) == HT_RECORDER_NONE) {
		struct ht_chunk *c = (struct ht_chunk *)t->chunk;
		c->fill = (u32)(t->at - (u64)c);
		ht_store(&c->seal, ht_sum_chunk(c, (u32)(t->at - (u64)c)));
		u32 other = spill(t);
		ht_store_release(&s->state, HT_STREAM_ENDED);
		if (other == HT_NONE) {
			ht_chunk_give(s->chunk);
			ht_stream_give(t->slot);
		} else { // what could not be written stays in the slot, and the next thread takes another chunk
			ht_chunk_give(other);
		}
	} else {
		ht_store_release(&s->state, HT_STREAM_ENDED);
	}
	t->stream = &no_stream;
	ht_counts_leave(t);
}

// At exit, seals what the last thread has recorded so far. A recorder reads it at once, so there it is not needed. In a
// child that has not noticed the fork, the chunk is its parent's.
__attribute__((destructor)) static void seal_last(void)
{
	if (!ht_header || !ht_load(&ht_state->generation) || ht_local.thread->pid != ht_pid ||
	    ht_load(&ht_header->recorder_state) != HT_RECORDER_NONE)
		return;
	for (struct ht_thread *t = ht_local.thread; t; t = t->upper) {
		struct ht_chunk *c = (struct ht_chunk *)t->chunk;
		if (c && t->stream->busy <= HT_BUSY_CONTROL)
			ht_store(&c->seal, ht_sum_chunk(c, (u32)(t->at - (u64)c)));
	}
}

// ---------------------------------------------------------------------------------------------------------------------
// States

static int take(struct ht_thread *t, u32 from)
{
	return __atomic_compare_exchange_n(&t->state, &from, STATE_TAKEN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void forget_memo(struct ht_memo *memo)
{
	ht_memo_forget(memo);
	memo->low = memo->high = 0;
	for (u32 i = 0; i < 4; i++)
		memo->regions[i].low = memo->regions[i].high = 0;
}

static void forget(struct ht_thread *t)
{
	forget_memo(&t->memo);
	forget_memo(&t->memo_of_frees);
}

// If another state has our thread id, its thread is gone and the kernel has reused the id.
static int owner_is_gone(struct ht_thread *t, u32 tid)
{
	u32 owner = ht_load_acquire(&t->tid);
	return owner != tid ? is_dead(owner) : ht_local.thread == &ht_no_thread;
}

// Checks the next few states for one that is free or whose thread is gone.
static struct ht_thread *recycle(u32 tid)
{
	struct ht_thread *t = ht_load_acquire(&inspected);
	for (u32 i = 0; i < 4; i++) {
		t = t && t->next ? t->next : ht_load_acquire(&all);
		if (!t)
			return 0;
		ht_store_release(&inspected, t);
		if (take(t, STATE_FREE))
			return t;
		if (!owner_is_gone(t, tid) || !take(t, STATE_LIVE))
			continue;
		// Another thread may have taken it over between our check and our claim.
		if (!owner_is_gone(t, tid)) {
			ht_store_release(&t->state, STATE_LIVE);
			continue;
		}
		ht_has_ended(t);
		close_stream(t);
		forget(t);
		return t;
	}
	return 0;
}

static struct ht_thread *make_state(u32 tid, u32 level, u64 sp)
{
	struct ht_thread *t = recycle(tid);
	if (!t) {
		t = ht_map(sizeof(*t));
		if (!t)
			return 0;
		t->state = STATE_TAKEN;
		t->stream = &no_stream;
		t->memo.generation = ~0ull; // no real generation, and not 0, which ht_state.common may be
		t->next = ht_load(&all);
		while (!__atomic_compare_exchange_n(&all, &t->next, t, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
	}
	t->upper = 0;
	t->local = &ht_local;
	t->errno_at = &errno;
	t->pid = ht_pid;
	t->level = level;
	t->deep = t->deepest = ~0ull;
	t->pending_depth = 0;
	if (t->calling & 1) // its last thread ended in a monitor's callback
		ht_add_here(&t->calling, 1);
	if (t->measures)
		ht_measures_leave(t->measures);
	if (t->regions)
		ht_regions_leave(t->regions);
	if (level == 0 && ht_local.measures)
		t->measures = ht_local.measures;
	ht_local.measures = 0;
	ht_store_release(&t->tid, tid);
	ht_store_release(&t->paused, level == 0 && ht_local.paused ? tid : 0);
	ht_store_release(&t->serving, level == 0 && ht_local.serves ? tid : 0);
	if (open_stream(t, tid, level, sp) < 0) {
		ht_store_release(&t->state, STATE_FREE);
		return 0;
	}
	ht_store_release(&t->state, STATE_LIVE);
	if (level == 0)
		ht_thread_note_end();
	return t;
}

// A handler that interrupted an event of this thread may have forked. In the child, too, the event ends when the
// handler returns. So the child uses that state for nothing else, and the code that ends the event ends it here.
static struct ht_stream given_up;

static int is_own(const struct ht_thread *t)
{
	const struct ht_thread *own = ht_local.thread;
	while (own && own != t)
		own = own->upper;
	return own != 0;
}

void ht_threads_after_fork(void)
{
	// The other threads' states are copies, and their streams are the parent's. If a thread other than the child's
	// first one came here first, the first thread may still use its state, which we cannot identify. Then all
	// states are abandoned.
	u32 then = ht_sys0(__NR_gettid) == ht_sys0(__NR_getpid) ? STATE_FREE : STATE_TAKEN;
	for (struct ht_thread *t = ht_load(&all); t; t = t->next) {
		int own = is_own(t);
		if (!own)
			forget(t);
		t->stream = own ? &given_up : &no_stream;
		t->counts = 0;
		t->calling = 0;
		t->paused = t->serving = 0;
		t->shadow = 0; // the thread that continues keeps its own
		ht_store(&t->state, own ? STATE_TAKEN : then);
	}
	ht_local.measures = ht_local.thread->measures; // which continue
	ht_local.thread->measures = 0;
	ht_local.regions = ht_local.thread->regions;
	ht_local.thread->regions = 0;
	ht_local.thread = &ht_no_thread;
}

static struct ht_thread *lose_event(void)
{
	if (ht_header) {
		ht_count(HT_C_LOST);
		ht_count(HT_C_NO_THREAD);
	}
	return 0;
}

struct ht_thread *ht_thread_ensure(u64 sp)
{
	struct ht_thread *t = ht_thread_enter(ht_local.thread, sp);
	if (!t)
		return 0;
	ht_store(&t->stream->busy, 0);
	return ht_local.thread != &ht_no_thread ? ht_local.thread : 0;
}

struct ht_thread *ht_threads(void)
{
	return ht_load_acquire(&all);
}

int ht_thread_is_gone(struct ht_thread *t)
{
	return is_dead(ht_load_acquire(&t->tid));
}

// A handler has left an event by longjmp, between any two of its stores. The event may have written extras without a
// record, or have published its record without advancing t->at.
static void left_half_way(struct ht_thread *t)
{
	u64 published = t->stream->pos - t->pos_base; // far from t->at if it was about to change chunks
	if (t->at - published + HT_RECORD_MAX < 2 * HT_RECORD_MAX)
		t->at = published;
	ht_memo_forget(&t->memo);
	ht_memo_forget(&t->memo_of_frees);
}

static struct ht_thread *stopped(void)
{
	ht_count(HT_C_LOST);
	ht_count(HT_C_STOPPED);
	return 0;
}

struct ht_thread *ht_thread_enter(struct ht_thread *t, u64 sp)
{
	if (!ht_init())
		return 0;
	if (ht_unlikely(!ht_clock_is_allowed()))
		return stopped();
	t = ht_thread_own(); // a forked child has just lost it
	if (t == &ht_no_thread) {
		ht_filter_begin_thread();
		i32 tid = (i32)ht_sys0(__NR_gettid);
		t = tid > 0 ? make_state((u32)tid, 0, sp) : 0;
		if (!t)
			return lose_event();
		ht_local.thread = t;
		return t;
	}
	for (;;) {
		u64 saved = t->stream->busy;
		if (!saved || saved == HT_BUSY_CONTROL)
			return t;
		if (sp >= saved && ht_on_stack(t, sp, saved)) {
			left_half_way(t);
			return t;
		}
		if (!t->upper) {
			if (t->level + 1 >= MAX_LEVEL)
				return lose_event();
			struct ht_thread *upper = make_state(t->tid, t->level + 1, sp);
			if (!upper)
				return lose_event();
			t->upper = upper;
			return upper;
		}
		t = t->upper;
	}
}
