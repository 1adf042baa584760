// Growth by copying: to 6 MiB in steps of 128 bytes, each a new block to which the contents of the old one move. Only
// the last step's contents are copied here: 155 GB would take their time, and allocations do not depend on it.
//
// 6 * 2^20 / 128 = 49,152 blocks of 128, 256 ... 6,291,456 bytes: 128 * 49,152 * 49,153 / 2 = 154,621,968,384 bytes.
// The last two blocks, 6,291,456 + 6,291,328, are the peak. The last block is freed right after its predecessor: it is
// the thread's latest.
//
//= grow: allocations 49152, bytes 154621968384, self-allocations 49152, deallocations 49152, freed 154621968384
//= grow: min-size 128, max-size 6291456, temporary 1, temporary-bytes 6291456, reallocations 0, leaked 0
//= grow: peak 12582784, peak-blocks 2, own-peak 12582784
//= all: allocations 49152, bytes 154621968384, temporary 1, peak 12582784, peak-blocks 2, leaked 0
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define STEP 128
#define END (6 << 20)

static char *grow(void)
{
	char *all = 0;
	for (size_t size = STEP; size <= END; size += STEP) {
		char *more = used(malloc(size));
		if (all)
			memcpy(more + size - 2 * STEP, all + size - 2 * STEP, STEP);
		memset(more + size - STEP, 1, STEP);
		free(all);
		all = more;
	}
	return all;
}

int main(void)
{
	free(grow());
	return 0;
}
