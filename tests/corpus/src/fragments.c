// Fragmentation: 10,000 blocks of 512 bytes, of which every second one is freed. Half of the heap is holes.
//
//= fill: allocations 10000, bytes 5120000, self-allocations 10000, self-bytes 5120000, mean-size 512
//= fill: deallocations 5000, freed 2560000, temporary 0, leaked 2560000, leaked-blocks 5000
//= fill: peak 5120000, peak-blocks 10000, own-peak 5120000, live 2560000, live-blocks 5000
//= all: allocations 10000, bytes 5120000, deallocations 5000, peak 5120000, peak-blocks 10000, leaked 2560000
#include <stdlib.h>

#include "corpus.h"

#define BLOCKS 10000
static void *block[BLOCKS];

static void fill(void)
{
	for (int i = 0; i < BLOCKS; i++)
		block[i] = used(malloc(512));
}

static void punch(void)
{
	for (int i = 0; i < BLOCKS; i += 2)
		free(block[i]);
}

int main(void)
{
	fill();
	punch();
	return 0;
}
