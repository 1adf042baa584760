// SPDX-License-Identifier: Apache-2.0
//
// mode.c: which mode is in force: from the environment, and when it changes.
//
// The mode is in ht_header.control, for all processes that share the spool. A process uses a copy in ht_state, until an
// event finds that they differ. Several threads may find that at once, so a thread that sets the copy checks again
// afterwards.

#include <time.h>

#include "record/mode.h"
#include "base/environ.h"
#include "base/filter.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "spool/spool.h"
#include "record/observer.h"
#include "record/record.h"

#define NEVER (~0ull)

// The values of HEAPTAP_START_AFTER and HEAPTAP_STOP_AFTER.
static struct moment {
	u64 time; // ns from the start of the process, or of recording; NEVER: no time
	u64 allocations; // NEVER: no number
	u32 pending;
} moments[2] = {{NEVER, NEVER, 0}, {NEVER, NEVER, 0}};
enum { START, STOP };

static u32 started_mode = HT_MODE_EXACT; // the mode that starting recording sets
static u32 was_exact; // there may be recorded blocks that are not in the filter
static u32 partial;
static u32 changes; // number of calls of ht_mode_changed
static u64 since; // CLOCK_MONOTONIC at the beginning of the process, then of recording
static u64 look_at; // the time is not up before ht_clock() has this value

// ---------------------------------------------------------------------------------------------------------------------
// The environment. `heaptap run` checks its flags before it sets these, so an invalid value here was set by hand.

int ht_environ_flag(const char *name)
{
	// The values that heaptap run accepts, see Go's strconv.ParseBool. The first half means true.
	static const char *const words[] = {"1", "true",  "t", "True",	"TRUE",	 "T",
					    "0", "false", "f", "False", "FALSE", "F"};
	const u32 count = sizeof(words) / sizeof(*words);
	const char *value = ht_environ_get(name);
	for (u32 i = 0; value && i < count; i++)
		if (ht_streq(value, words[i]))
			return i < count / 2;
	if (value)
		ht_complain(name, value, "true or false");
	return 0;
}

static u32 mode_of(const char *name)
{
	const char *value = ht_environ_get(name);
	static const char *const names[] = {"exact", "sampled", "count", "off"}; // from HT_MODE_EXACT on
	for (u32 i = 0; value && i < 4; i++)
		if (ht_streq(value, names[i]))
			return i + 1;
	if (value)
		ht_complain(name, value, "exact, sampled, count or off");
	return 0;
}

static u64 number_of(const char *name, u64 otherwise, u64 least, const char *wanted)
{
	const char *value = ht_environ_get(name);
	u64 n;
	if (!value)
		return otherwise;
	if (ht_number_exact(value, &n) == 0 && n >= least && n <= 1ull << 46)
		return n;
	ht_complain(name, value, wanted);
	return otherwise;
}

// Such as 500, 20K, 1M: powers of 1000, unlike numbers of bytes.
static u64 calls_of(const char *name)
{
	const char *value = ht_environ_get(name), *s = value;
	u64 n = 0, times = 1;
	if (!value)
		return 0;
	for (; *s >= '0' && *s <= '9' && n < 1ull << 46; s++)
		n = n * 10 + (u64)(*s - '0');
	if (s > value && *s)
		times = (*s | 32) == 'k' ? 1000 : (*s | 32) == 'm' ? 1000000 : (*s | 32) == 'g' ? 1000000000 : 0, s++;
	if (*s == 0 && n && times && n <= (1ull << 46) / times)
		return n * times;
	ht_complain(name, value, "a number of calls as 500 or 1K");
	return 0;
}

// Such as 500ms, 10s, 5m, 1h; or a number of allocations, such as 20000, 500K, 10M.
static void moment_of(const char *name, struct moment *m)
{
	static const struct unit {
		const char *name;
		u64 times, is_time;
	} units[] = {{"ms", 1000000, 1},      {"s", 1000000000, 1}, {"m", 60000000000, 1},
		     {"h", 3600000000000, 1}, {"", 1, 0},	    {"K", 1000, 0},
		     {"k", 1000, 0},	      {"M", 1000000, 0},    {"G", 1000000000, 0}};
	const char *value = ht_environ_get(name), *s = value;
	u64 n = 0;
	if (!value)
		return;
	for (; *s >= '0' && *s <= '9' && n < 100000000000000; s++)
		n = n * 10 + (u64)(*s - '0');
	for (const struct unit *u = units; s > value && u < units + sizeof(units) / sizeof(*units); u++)
		if (ht_streq(s, u->name) && n < NEVER / u->times) {
			*(u->is_time ? &m->time : &m->allocations) = n * u->times;
			m->pending = 1;
		}
	if (!m->pending)
		ht_complain(name, value, "a time as 10s, 500ms, 2m, or a number of allocations as 20000 or 1M");
}

void ht_mode_init(void)
{
	struct ht_header *h = ht_header;
	const char *start = ht_environ_get("HEAPTAP_START");
	u32 mode = mode_of("HEAPTAP_MODE");

	h->sample = number_of("HEAPTAP_SAMPLE", 512 << 10, 1, "a number of bytes as 512K");
	u64 calls = calls_of("HEAPTAP_SAMPLE_CALLS");
	if (calls)
		h->sample = calls | HT_SAMPLED_CALLS;
	h->stack_min = number_of("HEAPTAP_STACK_MIN", 0, 0, "a number of bytes as 1K");
	moment_of("HEAPTAP_START_AFTER", &moments[START]);
	moment_of("HEAPTAP_STOP_AFTER", &moments[STOP]);
	ht_sample_init();

	if (mode && mode != HT_MODE_OFF)
		started_mode = mode;
	if (start && ht_streq(start, "off"))
		mode = HT_MODE_OFF;
	else if (start && !ht_streq(start, "on"))
		ht_complain("HEAPTAP_START", start, "on or off");
	if (moments[START].pending)
		mode = HT_MODE_OFF;
	since = ht_now_ns(CLOCK_MONOTONIC);
	h->control = mode ? mode : HT_MODE_EXACT;
	partial = h->control != HT_MODE_EXACT;
}

// ---------------------------------------------------------------------------------------------------------------------
// Following ht_header.control

void ht_mode_claim(struct ht_proc *p)
{
	p->partial = partial;
	p->mode = ht_load(&ht_header->control);
}

// `common` becomes the generation, even if another thread raises that meanwhile.
static void set_common(void)
{
	u64 generation;
	do {
		generation = __atomic_load_n(&ht_state->generation, __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&ht_state->common, generation, __ATOMIC_SEQ_CST);
	} while (generation != __atomic_load_n(&ht_state->generation, __ATOMIC_SEQ_CST));
}

void ht_generation_raise(void)
{
	u64 common, generation;
	__atomic_fetch_add(&ht_state->generation, 1, __ATOMIC_SEQ_CST);
	common = __atomic_load_n(&ht_state->common, __ATOMIC_SEQ_CST);
	// Another thread may be clearing it, because a slow flag was set: then it stays 0.
	while (common && common != (generation = __atomic_load_n(&ht_state->generation, __ATOMIC_SEQ_CST)))
		if (__atomic_compare_exchange_n(&ht_state->common, &common, generation, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			common = generation;
}

static void apply_mode(u32 control)
{
	u32 mode = control & HT_MODE_MASK, off = mode == HT_MODE_OFF;
	u64 flags = mode == HT_MODE_SAMPLED ? HT_SLOW_SAMPLED
		    : mode == HT_MODE_COUNT ? HT_SLOW_COUNT
		    : off		    ? HT_SLOW_OFF
		    : ht_header->stack_min  ? HT_SLOW_STACK_MIN
					    : 0;

	if (control >> 8) // already started or switched
		ht_store(&moments[START].pending, 0);
	if (control >> 8 && off)
		ht_store(&moments[STOP].pending, 0);
	if (off ? ht_load(&moments[START].pending) : ht_load(&moments[STOP].pending))
		flags |= HT_SLOW_WAIT;
	flags |= ht_api_slow_flags();
	if (flags & HT_SLOW_OBSERVED && !(flags & ~HT_SLOW_OBSERVED))
		flags |= HT_SLOW_ONLY_OBSERVED;
	if (flags & HT_SLOW_PAUSED) {
		ht_store(&partial, 1);
		ht_store(&ht_procs[ht_process].partial, 1);
	}
	if (!off)
		ht_store(&started_mode, mode);
	if (!off && ht_state->slow_flags & HT_SLOW_OFF)
		since = ht_now_ns(CLOCK_MONOTONIC);
	ht_store(&look_at, 0);

	if (mode == HT_MODE_EXACT) {
		ht_store(&was_exact, 1);
	} else {
		ht_store(&partial, 1);
		ht_store(&ht_procs[ht_process].partial, 1);
		if (ht_load(&was_exact))
			ht_filter_saturate();
	}
	ht_store(&ht_state->dispatch, HT_DISPATCH_SLOW);
	__atomic_exchange_n(&ht_state->common, 0, __ATOMIC_SEQ_CST);
	ht_store(&ht_state->size_mask, ht_header->sample & HT_SAMPLED_CALLS ? 0 : ~0ull);
	ht_store_release(&ht_state->slow_flags, flags);
	ht_store_release(&ht_state->control, control);
	if (!flags) {
		set_common();
		ht_store_release(&ht_state->dispatch, ht_state->free_stacks ? HT_DISPATCH_SLOW : HT_DISPATCH_EXACT);
	} else {
		ht_fast_hooks_choose(flags);
	}
	ht_store_release(&ht_procs[ht_process].mode, control);
}

void ht_mode_follow(void)
{
	u32 control, seen;
	do {
		seen = ht_load_acquire(&changes);
		control = ht_load_acquire(&ht_header->control);
		apply_mode(control);
	} while (seen != ht_load_acquire(&changes) || control != ht_load_acquire(&ht_header->control));
}

void ht_mode_changed(void)
{
	__atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
	ht_mode_follow();
}

void ht_mode_switch(int on)
{
	u32 control = ht_load_acquire(&ht_header->control), next;
	do {
		if (((control & HT_MODE_MASK) != HT_MODE_OFF) == on)
			break;
		next = (on ? ht_load(&started_mode) : HT_MODE_OFF) | ((control >> 8) + 1) << 8;
	} while (!__atomic_compare_exchange_n(&ht_header->control, &control, next, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	ht_mode_follow();
}

// ---------------------------------------------------------------------------------------------------------------------
// Start and stop by time or number

static int is_time(u64 after)
{
	if (ht_unlikely(!ht_clock_is_allowed()))
		return 0;
	u64 clock = ht_clock();
	if (clock < ht_load(&look_at))
		return 0;
	u64 passed = ht_now_ns(CLOCK_MONOTONIC) - since;
	if (passed >= after)
		return 1;
	ht_store(&look_at, clock + (after - passed) / 2); // every counter makes at least half a tick a nanosecond
	return 0;
}

u64 ht_mode_wait(u64 allocations)
{
	u64 flags = ht_load(&ht_state->slow_flags);
	u32 which = flags & HT_SLOW_OFF ? START : STOP;
	struct moment *m = &moments[which];
	u32 control = ht_load(&ht_state->control);
	u32 next = (which == START ? started_mode : HT_MODE_OFF) | ((control >> 8) + 1) << 8;
	int due = m->time != NEVER && is_time(m->time);

	if (m->allocations != NEVER && allocations)
		due |= __atomic_fetch_add(&ht_header->awaited[which], allocations, __ATOMIC_RELAXED) >= m->allocations;
	if (!due)
		return flags;
	__atomic_compare_exchange_n(&ht_header->control, &control, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	ht_mode_follow();
	return ht_load(&ht_state->slow_flags);
}
