// Leaks: of 4,096 blocks of 100 bytes every second one is forgotten. Each is freed before the next but one is made.
//
//= send: allocations 4096, bytes 409600, self-allocations 4096, deallocations 2048, freed 204800
//= send: leaked 204800, leaked-blocks 2048, live 204800, live-blocks 2048, temporary 2048
//= send: peak 204900, peak-blocks 2049, own-peak 204900
//= main: leaked 204800, leaked-blocks 2048
//= all: allocations 4096, leaked 204800, leaked-blocks 2048, peak 204900
#include <stdlib.h>

#include "corpus.h"

static void send(int i)
{
	void *message = used(malloc(100));
	if (i % 2 == 1)
		free(message);
}

int main(void)
{
	for (int i = 0; i < 4096; i++)
		send(i);
	return 0;
}
