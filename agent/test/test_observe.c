// SPDX-License-Identifier: Apache-2.0
//
// test_observe.c: tests measures and monitors under ThreadSanitizer, outside of the agent: threads report events while
// others begin and end measures, add and remove monitors, and destroy the monitors' data.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/observe/measure.h"
#include "../src/record/mode.h"
#include "../src/observe/monitor.h"

// Nothing is forbidden.
uint32_t ht_filtered;
long ht_call_filtered(long n, long a, long b, long c, long d, long e, long f)
{
	return ht_syscall(n, a, b, c, d, e, f);
}

#define THREADS 4
#define EVENTS 20000
#define SIZE 100

// The rest of the agent, as far as these need it.
static struct ht_thread *all;
__thread struct ht_local ht_local;
struct ht_thread ht_no_thread;

int ht_init(void)
{
	return 1;
}

void ht_mode_changed(void)
{
}

void *ht_map(u64 size)
{
	return calloc(1, size);
}

struct ht_thread *ht_thread_ensure(u64 sp)
{
	(void)sp;
	struct ht_thread *t = calloc(1, sizeof(*t));
	t->local = &ht_local;
	t->errno_at = calloc(1, sizeof(int));
	t->next = ht_load(&all);
	while (!__atomic_compare_exchange_n(&all, &t->next, t, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return ht_local.thread = t;
}

struct ht_state ht_state[1] = {{.generation = 1}};

struct ht_thread *ht_threads(void)
{
	return ht_load_acquire(&all);
}

int ht_thread_is_gone(struct ht_thread *t)
{
	(void)t;
	return 0;
}

static int failed, stop;

static void check(const char *what, u64 got, u64 want)
{
	if (got != want) {
		printf("%s: %llu, expected %llu\n", what, (unsigned long long)got, (unsigned long long)want);
		failed = 1;
	}
}

struct user {
	u64 calls; // by several threads
	int alive; // plain: to destroy it while it is called is a race
};

static void allocated(size_t requested, size_t usable, const void *address, void *user)
{
	struct user *u = user;
	(void)requested, (void)usable, (void)address;
	if (u->alive == 1234)
		__atomic_fetch_add(&u->calls, 1, __ATOMIC_RELAXED);
}

static void deallocated(size_t usable, const void *address, void *user)
{
	allocated(usable, usable, address, user);
}

static void event(void)
{
	if (ht_load(&ht_measures_running))
		ht_measure_allocation(SIZE, SIZE + 4);
	if (ht_load(&ht_monitors.registered))
		ht_monitor_allocation(SIZE, SIZE + 4, &stop);
	if (ht_load(&ht_measures_running))
		ht_measure_deallocation(SIZE + 4);
	if (ht_load(&ht_monitors.registered))
		ht_monitor_deallocation(SIZE + 4, &stop);
}

static void *events(void *arg)
{
	(void)arg;
	ht_local.thread = &ht_no_thread;
	struct heaptap_measured m;
	int64_t mine = ht_measure_begin(HEAPTAP_THREAD);
	for (u32 i = 0; i < EVENTS; i++)
		event();
	ht_measure_end(mine, &m, sizeof(m));
	check("allocations of a thread", m.allocations, EVENTS);
	check("bytes of a thread", m.requested, EVENTS * SIZE);
	check("highest of a thread", (u64)m.highest, SIZE + 4);
	return 0;
}

static void *measures(void *arg)
{
	(void)arg;
	ht_local.thread = &ht_no_thread;
	while (!ht_load(&stop)) {
		struct heaptap_measured m;
		int64_t a = ht_measure_begin(HEAPTAP_PROCESS), b = ht_measure_begin(HEAPTAP_PROCESS);
		ht_measure_read(b, &m, sizeof(m));
		ht_measure_end(a, &m, sizeof(m));
		ht_measure_end(b, &m, sizeof(m));
	}
	return 0;
}

static void *monitors(void *arg)
{
	ht_local.thread = &ht_no_thread;
	while (!ht_load(&stop)) {
		struct user *u = calloc(1, sizeof(*u));
		u->alive = 1234;
		struct heaptap_monitor m = {allocated, arg ? deallocated : 0, u};
		int number = ht_monitor_add(&m, sizeof(m));
		check("added", number > 0, 1);
		event();
		check("removed", (u64)ht_monitor_remove(number), HEAPTAP_OK);
		check("calls by itself", u->calls >= (arg ? 2 : 1), 1);
		u->alive = 0;
		free(u);
	}
	return 0;
}

// What happens in a measure is in the one around it, too, also when the inner one has ended.
static void nested(void)
{
	struct heaptap_measured m;
	int64_t outer = ht_measure_begin(HEAPTAP_THREAD), inner = ht_measure_begin(HEAPTAP_THREAD);
	ht_measure_allocation(SIZE, SIZE + 4);
	ht_measure_deallocation(SIZE + 4);
	ht_measure_end(inner, &m, sizeof(m));
	check("highest of an inner measure", (u64)m.highest, SIZE + 4);
	ht_measure_end(outer, &m, sizeof(m));
	check("highest of what is around it", (u64)m.highest, SIZE + 4);
	check("largest of what is around it", m.largest, SIZE);
}

int main(void)
{
	pthread_t busy[THREADS], others[4];
	struct heaptap_measured m;
	struct user user = {0, 1234};
	struct heaptap_monitor monitor = {allocated, deallocated, &user};
	ht_local.thread = &ht_no_thread;
	nested();
	int number = ht_monitor_add(&monitor, sizeof(monitor));
	int64_t process = ht_measure_begin(HEAPTAP_PROCESS);
	pthread_create(&others[0], 0, measures, 0);
	pthread_create(&others[1], 0, measures, 0);
	pthread_create(&others[2], 0, monitors, 0);
	pthread_create(&others[3], 0, monitors, &user);
	for (u32 i = 0; i < THREADS; i++)
		pthread_create(&busy[i], 0, events, 0);
	for (u32 i = 0; i < THREADS; i++)
		pthread_join(busy[i], 0);
	ht_store(&stop, 1);
	for (u32 i = 0; i < 4; i++)
		pthread_join(others[i], 0);
	check("end", (u64)ht_measure_end(process, &m, sizeof(m)), HEAPTAP_OK);
	check("removed", (u64)ht_monitor_remove(number), HEAPTAP_OK);
	check("all allocations but of those who monitor", m.allocations >= THREADS * EVENTS, 1);
	check("as many deallocations", m.deallocations, m.allocations);
	check("calls", user.calls, m.allocations + m.deallocations);
	if (!failed)
		puts("measures and monitors: passed");
	return failed;
}
