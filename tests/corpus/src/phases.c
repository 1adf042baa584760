// Two phases, the peak in the second: 1,000 blocks of 8,000 bytes, all freed; then 3,000 of 4,000, while 500 of 10
// bytes from before stay live. The peak is 500 * 10 + 3,000 * 4,000 bytes.
//
//= settings: allocations 500, bytes 5000, peak 5000, peak-blocks 500, leaked 5000, leaked-blocks 500, own-peak 5000
//= load: allocations 1000, bytes 8000000, deallocations 1000, peak 0, peak-blocks 0, own-peak 8000000, leaked 0
//= solve: allocations 3000, bytes 12000000, deallocations 3000, leaked 0
//= solve: peak 12000000, peak-blocks 3000, own-peak 12000000
//= main: allocations 4500, bytes 20005000, leaked 5000, leaked-blocks 500
//= main: peak 12005000, peak-blocks 3500, own-peak 12005000
//= all: allocations 4500, bytes 20005000, peak 12005000, peak-blocks 3500, leaked 5000
#include <stdlib.h>

#include "corpus.h"

static void *block[3000];
static void *kept[500];

static void settings(void)
{
	for (int i = 0; i < 500; i++)
		kept[i] = used(malloc(10));
}

static void done(int n)
{
	for (int i = 0; i < n; i++)
		free(block[i]);
}

static void load(void)
{
	for (int i = 0; i < 1000; i++)
		block[i] = used(malloc(8000));
	done(1000);
}

static void solve(void)
{
	for (int i = 0; i < 3000; i++)
		block[i] = used(calloc(40, 100));
	done(3000);
}

int main(void)
{
	settings();
	load();
	solve();
	return 0;
}
