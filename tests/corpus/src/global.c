// A global variable of 512 MiB, of which 64 MiB are touched: in no number of allocations, and resident as far as it is
// touched.
//
//= fill: allocations 10, bytes 1000, deallocations 0, leaked 1000, leaked-blocks 10, own-peak 1000
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "resident.h"

static char big[512 << 20];

static void fill(void)
{
	for (int i = 0; i < 10; i++)
		used(malloc(100));
	memset(used(big), 1, 64 << 20);
}

int main(void)
{
	fill();
	tell_resident();
	return 0;
}
