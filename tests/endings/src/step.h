// SPDX-License-Identifier: Apache-2.0
//
// step.h: steps that are counted before they are done, on a page that the test shares: it outlives the program, however
// that ends, and needs no descriptor. So what is recorded of step_alloc() must be what is written there; where a thread
// is killed from outside, its last step may have been counted and not done.
#ifndef STEP_H
#define STEP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct slot { // one for every image and every child that was forked
	unsigned long used, pid, allocations, deallocations, bytes, inherited;
	unsigned long reserved[2];
};

#define SLOTS 4096

static struct slot *page, *slot; // of this image or child
static struct slot nowhere;

// A child's first act.
static void step_child(void)
{
	slot = &nowhere;
	for (int i = 0; page && i < SLOTS; i++)
		if (!__sync_lock_test_and_set(&page[i].used, 1)) {
			slot = &page[i];
			break;
		}
	slot->pid = (unsigned long)getpid();
}

static void step_init(void)
{
	const char *name = getenv("STEPS");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	if (slot)
		return;
	if (fd >= 0) {
		void *p = mmap(NULL, sizeof(struct slot) * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		page = p == MAP_FAILED ? NULL : (struct slot *)p;
		close(fd);
	}
	step_child();
}

__attribute__((constructor(101))) static void step_constructor(void)
{
	step_init();
}

#define ADD(field, n) __atomic_fetch_add(&slot->field, (unsigned long)(n), __ATOMIC_RELAXED)

__attribute__((noinline, noclone, unused)) static void *step_alloc(size_t size)
{
	ADD(bytes, size);
	ADD(allocations, 1);
	void *volatile p = malloc(size);
	return p;
}

__attribute__((noinline, noclone, unused)) static void step_free(void *p)
{
	ADD(deallocations, 1);
	free(p);
}

__attribute__((noinline, noclone, unused)) static void *step_realloc(void *p, size_t size)
{
	ADD(bytes, size);
	ADD(allocations, 1);
	ADD(deallocations, 1);
	void *volatile q = realloc(p, size);
	return q;
}

// Of a block that the parent has made.
__attribute__((noinline, noclone, unused)) static void step_free_inherited(void *p)
{
	ADD(inherited, 1);
	free(p);
}

// n allocations, most of them freed again.
__attribute__((unused)) static void steps(long n)
{
	void *ring[50] = {NULL};
	for (long i = 0; i < n; i++) {
		void **p = &ring[i % 50];
		if (*p)
			step_free(*p);
		*p = step_alloc((size_t)(16 + i % 300));
	}
}

// One more step than 2^depth, each with a call stack of its own.
__attribute__((noinline, noclone, unused)) static void *left(int depth);
__attribute__((noinline, noclone, unused)) static void *right(int depth);
static void *left(int depth)
{
	void *volatile p = NULL;
	if (depth == 0)
		return step_alloc(24);
	p = left(depth - 1);
	step_free(p);
	p = right(depth - 1);
	return p;
}
static void *right(int depth)
{
	void *volatile p = NULL;
	if (depth == 0)
		return step_alloc(48);
	p = right(depth - 1);
	step_free(p);
	p = left(depth - 1);
	return p;
}

#endif
