// SPDX-License-Identifier: Apache-2.0
//
// threshold.c: acts in the thread that allocates, before its malloc returns. HEAPTAP_THRESHOLD is
// min=BYTES,max=BYTES,live=BYTES,skip=N,times=N,timeout=MS,do=print|run|signal|abort; `heaptap run --monitor
// threshold:...` sets it.
//
// The recorder, which knows the names of functions, prints the call stack and runs the command, while the thread waits.
// The thread holds nothing meanwhile that the recorder or other threads need. If the recorder does not answer in time,
// or there is none, the stack is printed here, as modules and offsets.

#include <signal.h>

#include "observe/threshold.h"
#include "base/environ.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "unwind/cct.h"
#include "unwind/modules.h"
#include "record/mode.h"
#include "record/observer.h"
#include "record/record.h"
#include "observe/ask.h"

#define FRAMES 64
enum { PRINT, RUN, SIGNAL, ABORT };

static u64 min_size, max_size = ~0ull; // of requested bytes
static u64 max_live = ~0ull; // of usable bytes
static u64 skip; // how often it does not act at first
static u64 times = 1; // how often it acts then
static u64 timeout = 10000; // ms: naming functions of a very large program takes a while
static u32 by_size, act, waiting;
static u64 live, hits;

u64 ht_threshold_slow_flags(void)
{
	return ht_load(&waiting) ? HT_SLOW_THRESHOLD : 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// The environment

// One KEY=VALUE. 0, or -1.
static int take(const char *key, const char *value)
{
	static const char *const acts[] = {"print", "run", "signal", "abort"};
	u64 n;
	for (u32 i = 0; ht_streq(key, "do") && i < 4; i++)
		if (ht_streq(value, acts[i])) {
			act = i;
			return 0;
		}
	if (ht_number_exact(value, &n) < 0)
		return -1;
	if (ht_streq(key, "min")) {
		min_size = n;
		by_size = 1;
	} else if (ht_streq(key, "max")) {
		max_size = n;
		by_size = 1;
	} else if (ht_streq(key, "live")) {
		max_live = n;
	} else if (ht_streq(key, "skip")) {
		skip = n;
	} else if (ht_streq(key, "times")) {
		times = n;
	} else if (ht_streq(key, "timeout")) {
		timeout = n;
	} else {
		return -1;
	}
	return 0;
}

void ht_threshold_init(void)
{
	const char *value = ht_environ_get("HEAPTAP_THRESHOLD"), *at = value;
	char option[64], *equals;
	while (at && *at) {
		u64 n = 0;
		equals = 0;
		for (; *at && *at != ',' && n < sizeof(option) - 1; at++, n++) {
			option[n] = *at;
			if (*at == '=' && !equals) {
				equals = option + n;
				option[n] = 0;
			}
		}
		option[n] = 0;
		if (!equals || (*at && *at != ',') || take(option, equals + 1) < 0) {
			ht_complain(
				"HEAPTAP_THRESHOLD", value,
				"min=BYTES,max=BYTES,live=BYTES,skip=N,times=N,timeout=MS,do=print|run|signal|abort");
			return;
		}
		at += *at == ',';
	}
	waiting = by_size || max_live != ~0ull;
}

// ---------------------------------------------------------------------------------------------------------------------

// Prints a call on the stack as module+offset, as addr2line takes it.
static void print_call(char *line, u64 size, u64 pc, char *buffer)
{
	const struct ht_loaded *m = ht_module_of(pc, buffer);
	struct ht_mapping mapping;
	ht_append(line, size, "    ");
	if (ht_maps_find(pc, buffer, HT_MODULE_BUFFER, &mapping) == 0 && m) {
		ht_append(line, size - 32, mapping.path);
		ht_append(line, size, "+0x");
		pc -= m->bias;
	} else {
		ht_append(line, size, "0x");
	}
	ht_append_number(line, size, pc, 16);
	ht_append(line, size, "\n");
}

static void print_stack(u32 node)
{
	char line[1024], *buffer = ht_map(HT_MODULE_WORK);
	for (u32 i = 0; buffer && node && i < FRAMES; i++) {
		const struct ht_node *n = &ht_nodes[node];
		line[0] = 0;
		print_call(line, sizeof(line), ht_pcs[n->pc & ~HT_NODE_TRUNCATED].pc, buffer);
		ht_sys3(__NR_write, 2, line, ht_strlen(line));
		node = n->parent;
	}
	if (buffer)
		ht_unmap(buffer, HT_MODULE_WORK);
}

static void print(u64 size, u64 now)
{
	char line[256] = "heaptap: threshold: process ";
	ht_append_number(line, sizeof(line), ht_pid, 10);
	ht_append(line, sizeof(line), " allocates ");
	ht_append_number(line, sizeof(line), size, 10);
	ht_append(line, sizeof(line), " bytes; live are ");
	ht_append_number(line, sizeof(line), now, 10);
	ht_append(line, sizeof(line), " usable bytes\n");
	ht_sys3(__NR_write, 2, line, ht_strlen(line));
}

static int ask(u64 size, u64 now, const void *p, u32 stack)
{
	char text[128] = "size=";
	ht_append_number(text, sizeof(text), size, 10);
	ht_append(text, sizeof(text), " live=");
	ht_append_number(text, sizeof(text), now, 10);
	ht_append(text, sizeof(text), " address=0x");
	ht_append_number(text, sizeof(text), (u64)p, 16);
	return ht_ask_threshold(2, text, stack, (unsigned)timeout);
}

static void hit(u64 size, u64 now, const void *p, struct ht_caller c)
{
	u64 n = __atomic_add_fetch(&hits, 1, __ATOMIC_RELAXED);
	if (n <= skip || n - skip > times)
		return;
	if (n - skip == times) {
		ht_store(&waiting, 0);
		ht_mode_changed();
	}
	ht_local.hidden++;
	u32 stack = ht_stack_of(c);
	print(size, now);
	if (ask(size, now, p, stack) != HEAPTAP_OK)
		print_stack(stack);
	ht_local.hidden--;
	if (act == SIGNAL || act == ABORT)
		ht_sys3(__NR_tgkill, ht_pid, ht_sys0(__NR_gettid), act == ABORT ? SIGABRT : SIGTRAP);
}

void ht_threshold_allocation(const void *p, u64 size, u64 usable, struct ht_caller c)
{
	u64 more = usable == ~0ull ? size : usable, now = __atomic_add_fetch(&live, more, __ATOMIC_RELAXED);
	if (ht_local.hidden)
		return;
	if ((by_size && size >= min_size && size <= max_size) || (max_live < now && now - more <= max_live))
		hit(size, now, p, c);
}

void ht_threshold_deallocation(u64 usable)
{
	if (usable != ~0ull)
		__atomic_sub_fetch(&live, usable, __ATOMIC_RELAXED);
}
