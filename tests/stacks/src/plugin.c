// SPDX-License-Identifier: Apache-2.0
//
// plugin.c: built under several names. All are of the same size and layout, so that they come to lie at the same place.

#include <stdlib.h>

// Allocates `count` blocks of `size` bytes each into out.
__attribute__((visibility("default"), noinline)) void FUNCTION(void **out, int count, size_t size)
{
	for (int i = 0; i < count; i++)
		out[i] = malloc(size);
}

// So that the files differ.
__attribute__((visibility("default"))) const char plugin_name[] = NAME;
