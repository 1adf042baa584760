// SPDX-License-Identifier: Apache-2.0
//
// plugin.c: built several times under different names; all of the same size, so that they come to lie at the same
// place.

static volatile int sink;

__attribute__((visibility("default"), noinline)) void plugin(void (*f)(void))
{
	f();
	sink++;
}

// So that the files differ.
__attribute__((visibility("default"))) const char plugin_name[] = NAME;
