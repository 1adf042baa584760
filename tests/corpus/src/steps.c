// realloc in steps of 256 bytes to 1 MiB: 4,096 calls, 4,095 of them of a live block. Each is a deallocation and an
// allocation. 256 * 4,096 * 4,097 / 2 = 2,148,007,936 bytes. At no moment are both the old and the new block counted.
// Where blocks moved, and what had to be copied then, only the program can tell.
//
//= append: allocations 4096, bytes 2148007936, self-allocations 4096, reallocations 4095, deallocations 4096
//= append: freed 2148007936, temporary 1, leaked 0, own-peak 1048576, peak 1048576, peak-blocks 1
//= main: allocations 4096, own-peak 1048576
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"

static unsigned long moved, copied;

static void *append(void *p, size_t size)
{
	uintptr_t before = (uintptr_t)p;
	p = used(realloc(p, size));
	if (before && (uintptr_t)p != before) {
		moved++;
		copied += size - 256;
	}
	return p;
}

int main(void)
{
	void *p = 0;
	for (size_t size = 256; size <= 1 << 20; size += 256)
		p = append(p, size);
	free(p);
	return 0;
}

// Not in main: it may allocate.
__attribute__((destructor)) static void tell(void)
{
	if (dprintf(1, "//= append: in-place %lu, copied %lu\n", 4095 - moved, copied) < 0)
		abort();
}
