// SPDX-License-Identifier: Apache-2.0
//
// inside.c: tests of the agent whose failures would show in the cost of events and not in recordings. The preloaded
// agent contains probe.c.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../include/heaptap/heaptap.h"

extern unsigned long probe_walks __attribute__((weak));
extern void (*probe_signal)(void) __attribute__((weak));
extern int probe_common(void) __attribute__((weak));
extern int probe_in_chunk(void) __attribute__((weak));

static int failed;

static void expect(int ok, const char *what, long got)
{
	printf("%s %s (%ld)\n", ok ? "ok:    " : "FAILED:", what, got);
	failed |= !ok;
}

// A block at one of two places, so that no event is where the last one was.
static void __attribute__((noinline)) one(int i)
{
	void *volatile p = i & 1 ? malloc(100) : malloc(200);
	free(p);
}

// ---------------------------------------------------------------------------------------------------------------------
// A coroutine's stack is walked once for each event.

#define EVENTS 10000
static ucontext_t here, there;
static unsigned long walks;

static void coroutine(void)
{
	for (int i = 0; i < 10; i++)
		one(i);
	unsigned long before = probe_walks;
	for (int i = 0; i < EVENTS; i++)
		one(i);
	walks = probe_walks - before;
}

static void coroutines(void)
{
	static const size_t size = 256 << 10;
	char *stack = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = size;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
	expect(walks >= EVENTS && walks < EVENTS + EVENTS / 100, "10,000 events on a coroutine make as many walks",
	       (long)walks);
	munmap(stack, size);
}

// ---------------------------------------------------------------------------------------------------------------------
// A thread that ends while it is paused, or while it serves a pool, does not keep other threads on the slow path.

static struct condition {
	const char *name;
	void (*begin)(void), (*end)(void);
} * condition;

static heaptap_pool_id pool;

static void serve(void)
{
	heaptap_pool_serve(pool);
}

static void serve_none(void)
{
	heaptap_pool_serve(0);
}

static void *end_within(void *leave_first)
{
	condition->begin();
	one(0);
	if (leave_first)
		condition->end();
	return 0;
}

static void *nothing(void *arg)
{
	one(1);
	return arg;
}

static void run(void *(*f)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, 0, f, arg) || pthread_join(t, 0))
		_exit(9);
}

static void test_condition(struct condition *c)
{
	condition = c;
	printf("fast path and a thread that is %s:\n", condition->name);
	run(end_within, "");
	expect(probe_common(), "open after the thread has left the condition and ended", probe_common());
	run(end_within, 0);
	expect(!probe_common(), "closed right after a thread has ended within the condition", probe_common());
	for (int i = 0; i < 5000; i++)
		one(i);
	expect(probe_common(), "open again some events later", probe_common());
	run(end_within, 0);
	for (int i = 0; i < 20; i++) // one of them gets the state of the one that ended
		run(nothing, 0);
	expect(probe_common(), "open when a new thread has taken over the state", probe_common());
	condition->begin();
	for (int i = 0; i < 5000; i++)
		one(i);
	expect(!probe_common(), "closed while the thread is alive", probe_common());
	pid_t child = fork();
	if (child == 0) {
		one(0);
		one(1);
		int closed = !probe_common();
		condition->end();
		one(0);
		_exit(closed && probe_common() ? 7 : 8);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) < 0)
		_exit(9);
	expect(WEXITSTATUS(status) == 7, "a forked child inherits the condition and can leave it", WEXITSTATUS(status));
	condition->end();
	expect(probe_common(), "open at the end", probe_common());
}

// ---------------------------------------------------------------------------------------------------------------------
// A signal handler that interrupts an event forks, and both processes continue.

static pid_t forked;

static void forks(void)
{
	forked = fork();
	for (int i = 0; i < 100; i++)
		one(i);
}

static void fork_in_handler(void)
{
	int status = 0;
	probe_signal = forks;
	for (int i = 0; i < 10; i++)
		one(i);
	int sound = probe_in_chunk();
	if (forked == 0)
		_exit(sound ? 7 : 8);
	if (forked < 0 || waitpid(forked, &status, 0) < 0)
		_exit(9);
	expect(sound, "a process that forked within an event continues", sound);
	expect(status == 7 << 8, "a child that was forked within an event continues", status);
}

int main(void)
{
	if (!&probe_walks || !probe_common) {
		printf("FAILED: the agent is not loaded\n");
		return 1;
	}
	coroutines();
	pool = heaptap_pool_create("pool");
	test_condition(&(struct condition){"paused", heaptap_pause, heaptap_resume});
	test_condition(&(struct condition){"serving a pool", serve, serve_none});
	fork_in_handler();
	return failed;
}
