// Short-lived arrays: a loop that allocates one, uses it and frees it, 16,000 times; 2,000 of each of 64, 72 ... 120
// bytes.
//
//= sum: allocations 16000, bytes 1472000, self-allocations 16000, min-size 64, max-size 120, mean-size 92
//= sum: deallocations 16000, freed 1472000, temporary 16000, temporary-bytes 1472000
//= sum: leaked 0, leaked-blocks 0, own-peak 120, peak 120, peak-blocks 1
//= main: allocations 16000, self-allocations 0, own-peak 120
//= all: allocations 16000, bytes 1472000, deallocations 16000, temporary 16000, peak 120, leaked 0
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

static int sum(int i)
{
	size_t n = 64 + i % 8 * 8;
	unsigned char *a = used(malloc(n));
	memset(a, i, n);
	int s = a[0] + a[n - 1];
	free(a);
	return s;
}

int main(void)
{
	int s = 0;
	for (int i = 0; i < 16000; i++)
		s ^= sum(i);
	return s < 0;
}
