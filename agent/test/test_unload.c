// SPDX-License-Identifier: Apache-2.0
//
// test_unload.c: tests that plugins that are loaded in turn at one address are distinguished, and that unloading is
// noticed. Arguments: the plugins' files.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/unwind/memo.h"
#include "fake.h"

void __libc_free(void *);
static int started;

// As the hooks do: after unloading a module, the loader frees its description.
__attribute__((visibility("default"), noinline)) void free(void *p)
{
	if (p && started && ht_in_loader((u64)__builtin_return_address(0)))
		ht_modules_check();
	__libc_free(p);
}

static struct ht_memo memo;
static u32 node;

static __attribute__((noinline)) void event(void)
{
	u64 *frame = __builtin_frame_address(0);
	node = ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
	__asm__ volatile("" ::: "memory");
}

static const struct ht_module *loaded(u32 id)
{
	for (u64 at = 0;;) {
		const struct ht_module *m = (const void *)(ht_module_log + at);
		if (!m->length)
			return 0;
		if (m->kind == HT_MODULE_LOAD && m->id == id)
			return m;
		at += m->length;
	}
}

static u32 count_unloads(void)
{
	u32 n = 0;
	for (u64 at = 0;;) {
		const struct ht_module *m = (const void *)(ht_module_log + at);
		if (!m->length)
			return n;
		n += m->kind == HT_MODULE_UNLOAD;
		at += m->length;
	}
}

static const char *path_of(const struct ht_module *m)
{
	return m ? (const char *)(m + 1) + m->build_id_size : "?";
}

// Returns the module of the function that called event's caller, which is the plugin.
static const struct ht_module *module_of(u32 at, u64 *pc)
{
	for (; at; at = ht_nodes[at].parent) {
		const struct ht_pc *p = &ht_pcs[ht_nodes[at].pc & ~HT_NODE_TRUNCATED];
		const struct ht_module *m = loaded(p->module);
		if (m && strstr(path_of(m), "plugin")) {
			*pc = p->pc;
			return m;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0, rounds = 300;
	u64 first = 0;
	u32 same = 0;

	fake_start();
	started = 1;
	for (int round = 0; round < rounds; round++) {
		const char *file = argv[1 + round % (argc - 1)];
		void *h = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		if (!h) {
			printf("%s\n", dlerror());
			return 1;
		}
		void (*plugin)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(h, "plugin");
		u64 pc = 0;
		plugin(event);
		const struct ht_module *m = module_of(node, &pc);
		const char *base = strrchr(file, '/');
		if (!m || strcmp(strrchr(path_of(m), '/'), base) != 0 || m->build_id_size != 20) {
			if (!failed++)
				printf("round %d: a stack through %s says %s\n", round, file, path_of(m));
		}
		u32 before = 0;
		for (int again = 0; again < 3; again++) { // the memo and the rules are warm
			plugin(event);
			if (module_of(node, &pc) != m || (before && before != node))
				failed++;
			before = node;
		}
		same += pc == first;
		if (!first)
			first = pc;
		dlclose(h);
		if (count_unloads() != (u32)round + 1) {
			if (!failed++)
				printf("round %d: %u modules unloaded\n", round, count_unloads());
		}
	}
	if (same < (u32)rounds / 2) {
		printf("the plugins hardly ever took the same place: %u of %d\n", same, rounds);
		failed++;
	}
	printf("unload: %d rounds, %u at the same address: %s\n", rounds, same, failed ? "FAILED" : "ok");
	return failed != 0;
}
