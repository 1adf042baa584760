// SPDX-License-Identifier: Apache-2.0
//
// api.c: heaptap_api and its table, the API for programs. include/heaptap/heaptap.h documents each function.

#include "hooks/api.h"
#include "base/local.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "spool/names.h"
#include "record/mode.h"
#include "record/observer.h"
#include "record/pools.h"
#include "record/record.h"
#include "record/regions.h"
#include "record/thread.h"
#include "observe/ask.h"
#include "observe/measure.h"
#include "observe/monitor.h"
#include "observe/threshold.h"
#include "hooks/shared.h"

static u32 paused_threads, serving_threads;

// ---------------------------------------------------------------------------------------------------------------------
// State that events depend on

u64 ht_api_slow_flags(void)
{
	return (ht_load(&paused_threads) ? HT_SLOW_PAUSED : 0) | (ht_load(&serving_threads) ? HT_SLOW_SERVING : 0) |
	       (ht_load(&ht_measures_running) ? HT_SLOW_MEASURE : 0) |
	       (ht_load(&ht_monitors.registered) ? HT_SLOW_MONITOR : 0) | ht_threshold_slow_flags();
}

void ht_api_after_fork(void)
{
	paused_threads = ht_local.paused != 0;
	serving_threads = ht_local.serves != 0;
	ht_measures_after_fork();
}

// ---------------------------------------------------------------------------------------------------------------------
// State

static int active(void)
{
	return ht_init() && !ht_local.paused && (ht_load(&ht_header->control) & HT_MODE_MASK) != HT_MODE_OFF;
}

static int switched(int on)
{
	if (!ht_init())
		return HEAPTAP_NOT_LOADED;
	ht_mode_switch(on);
	return HEAPTAP_OK;
}

static int start(void)
{
	return switched(1);
}

static int stop(void)
{
	return switched(0);
}

// A thread may end while it is paused or serves a pool. So its state says so, and the code that clears it also
// decrements the counter.

static void begin_state(struct ht_thread *t, u32 *mark, u32 *threads)
{
	__atomic_fetch_add(threads, 1, __ATOMIC_SEQ_CST);
	ht_store_release(mark, t->tid);
	ht_mode_changed();
}

static void end_state(u32 *mark, u32 *threads)
{
	u32 tid = ht_load_acquire(mark);
	if (!tid || !__atomic_compare_exchange_n(mark, &tid, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_sub(threads, 1, __ATOMIC_SEQ_CST);
	ht_mode_changed();
}

static void pause_thread(void)
{
	struct ht_thread *t = ht_init() ? ht_thread_mine() : 0;
	if (t && !ht_local.paused++)
		begin_state(t, &t->paused, &paused_threads);
}

static void resume_thread(void)
{
	if (!ht_init() || !ht_local.paused)
		return;
	struct ht_thread *t = ht_thread_mine(); // in a forked child, this is a new one
	if (--ht_local.paused == 0 && t)
		end_state(&t->paused, &paused_threads);
}

static heaptap_pool_id pool_serve(heaptap_pool_id pool)
{
	struct ht_thread *t = ht_init() ? ht_thread_mine() : 0; // as above
	heaptap_pool_id before = ht_local.serves;
	ht_local.serves = pool = t && ht_pool_is(pool) ? pool : 0;
	if (pool && !before)
		begin_state(t, &t->serving, &serving_threads);
	else if (t && !pool && before)
		end_state(&t->serving, &serving_threads);
	return before;
}

void ht_has_ended(struct ht_thread *t)
{
	end_state(&t->paused, &paused_threads);
	end_state(&t->serving, &serving_threads);
}

void ht_look_for_ended(void)
{
	for (struct ht_thread *t = ht_threads(); t; t = t->next)
		if ((ht_load_acquire(&t->paused) || ht_load_acquire(&t->serving)) && ht_thread_is_gone(t))
			ht_has_ended(t);
}

static void hide(void)
{
	ht_local.hidden++;
}

static void unhide(void)
{
	if (ht_local.hidden)
		ht_local.hidden--;
}

// ---------------------------------------------------------------------------------------------------------------------
// Notes in the thread's stream

struct extras {
	u32 count;
	struct {
		u64 kind, value;
	} of[HT_REGION_IDS];
};

// Writes a note with a name. Its extras come first.
static void note_id(u64 kind, u64 id, const struct extras *extras, struct ht_caller c)
{
	struct ht_thread *t = id ? ht_begin(c) : 0;
	if (!t)
		return;
	u64 *w = (u64 *)t->at;
	for (u32 i = 0; extras && i < extras->count; i++)
		w = ht_put_extra(w, extras->of[i].kind, extras->of[i].value);
	w[0] = id | kind << HT_KIND_SHIFT;
	w[1] = ht_clock();
	ht_end(t, t->stream, w + 2);
}

static u32 note(u64 kind, const char *name, const struct extras *extras, struct ht_caller c)
{
	u32 id = ht_init() ? ht_name_id(name) : 0;
	note_id(kind, id, extras, c);
	return id;
}

static void mark(const char *name)
{
	note(HT_K_MARK, name, 0, HT_CALLER());
}

// In a forked child this runs once more.
static void note_region(const struct ht_region *region, struct ht_caller c)
{
	struct extras extras = {region->count, {{0, 0}}};
	for (u32 i = 0; i < region->count; i++) {
		extras.of[i].kind = HT_X_ID;
		extras.of[i].value = region->ids[i];
	}
	note_id(HT_K_REGION_BEGIN, region->name, &extras, c);
}

static void region_begin(const char *name, const int64_t *ids, size_t count)
{
	struct ht_region region = {.name = ht_init() ? ht_name_id(name) : 0};
	if (!region.name)
		return;
	for (; ids && region.count < count && region.count < HT_REGION_IDS; region.count++)
		region.ids[region.count] = (u64)ids[region.count];
	note_region(&region, HT_CALLER());
	ht_region_enter(&region);
}

static void enter_again(const struct ht_region *region)
{
	note_region(region, HT_CALLER());
}

void ht_api_forked(void)
{
	ht_regions_after_fork(enter_again);
}

static void region_end(const char *name)
{
	u32 id = note(HT_K_REGION_END, name, 0, HT_CALLER());
	if (id)
		ht_region_leave(id);
}

static void thread_name(const char *name)
{
	note(HT_K_THREAD_NAME, name, 0, HT_CALLER());
}

static void range_name(const void *start, size_t size, const char *name)
{
	struct extras extras = {2, {{HT_X_OLD, (u64)start}, {HT_X_OLD_SIZE, size}}};
	note(HT_K_RANGE_NAME, name, &extras, HT_CALLER());
}

// ---------------------------------------------------------------------------------------------------------------------

// The stack id of the block for which a monitor is being called. Its record is the thread's last one, or the last one
// before a record of the stack's depth.
static uint32_t stack(const void *address)
{
	struct ht_thread *t = ht_local.thread;
	const u64 *w = (const u64 *)t->at - sizeof(struct ht_stacked) / 8;
	if (t == &ht_no_thread || !t->chunk)
		return 0;
	for (u32 i = 0; i < 8 && (u64)w >= (u64)t->chunk + HT_CHUNK_HEADER; i++, w--)
		if ((*w & HT_ADDR_MASK) == (u64)address && (*w >> HT_KIND_SHIFT & 255) < HT_K_MMAP)
			return ((const struct ht_stacked *)w)->stack;
	return 0;
}

// ---------------------------------------------------------------------------------------------------------------------

static const struct heaptap_api table = {
	.size = sizeof(table),
	.version = HEAPTAP_VERSION,
	.active = active,
	.start = start,
	.stop = stop,
	.pause = pause_thread,
	.resume = resume_thread,
	.mark = mark,
	.region_begin = region_begin,
	.region_end = region_end,
	.thread_name = thread_name,
	.range_name = range_name,
	.measure_begin = ht_measure_begin,
	.measure_read = ht_measure_read,
	.measure_end = ht_measure_end,
	.monitor_add = ht_monitor_add,
	.monitor_remove = ht_monitor_remove,
	.hide = hide,
	.unhide = unhide,
	.live = ht_ask_live,
	.dump = ht_ask_dump,
	.pool_create = ht_pool_create,
	.pool_serve = pool_serve,
	.pool_backing = ht_pool_backing,
	.pool_alloc = ht_pool_alloc,
	.pool_free = ht_pool_free,
	.pool_move = ht_pool_move,
	.pool_clear = ht_pool_clear,
	.pool_destroy = ht_pool_destroy,
	.shared = ht_shared,
	.thread = ht_thread_number,
	.stack = stack,
};

const struct heaptap_api *heaptap_api(size_t size)
{
	return size <= sizeof(table) && ht_init() ? &table : 0;
}
