// SPDX-License-Identifier: Apache-2.0
//
// local.c: a C program, not linked against any C++ runtime, that loads and unloads a C++ library with RTLD_LOCAL.
// Usage: local PLUGIN N
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	int n = atoi(argv[2]);
	for (int round = 0; round < 3; round++) {
		void *h = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		if (!h) {
			fprintf(stderr, "%s\n", dlerror());
			return 3;
		}
		int (*work)(int) = (int (*)(int))(size_t)dlsym(h, "plugin_work");
		int (*throws)(int) = (int (*)(int))(size_t)dlsym(h, "plugin_throws");
		int (*strings)(int) = (int (*)(int))(size_t)dlsym(h, "plugin_strings");
		printf("%d %d %d\n", work(n), throws(n), strings(n));
		if (dlclose(h))
			return 4;
	}
	return 0;
}
