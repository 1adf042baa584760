// SPDX-License-Identifier: Apache-2.0
//
// plugin.c: a program without the header that loads a plugin with it, once compiled as each.

#ifdef PLUGIN

#include <stdlib.h>

#include <heaptap/heaptap.h>

int allocations(void);
int allocations(void)
{
	struct heaptap_measured m;
	int64_t measure = heaptap_measure_begin(HEAPTAP_THREAD);
	free(malloc(100));
	heaptap_measure_end(measure, &m);
	return heaptap_loaded() ? (int)m.allocations : -1;
}

#else

#include <dlfcn.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		union {
			void *symbol;
			int (*function)(void);
		} allocations = {plugin ? dlsym(plugin, "allocations") : NULL};
		if (!allocations.symbol) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		CHECK(dlerror() == NULL, ==, 1); // that the agent was not found is not for the program
		CHECK(allocations.function(), ==, argc > 2 ? atoi(argv[2]) : 1);
		dlclose(plugin);
	}
	return failures;
}

#endif
