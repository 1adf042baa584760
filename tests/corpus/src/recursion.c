// Recursion: a function that is on a call stack many times counts once for its total, inlined into itself or not.
//
// descend calls itself 50 deep and holds 100 bytes at each depth; only the deepest block is freed with nothing
// allocated since. ping and pong call each other, 20 times each, with 7 and 9 bytes.
//
//= descend: allocations 50, bytes 5000, self-allocations 50, self-bytes 5000, deallocations 50, temporary 1
//= descend: own-peak 5000, peak 5000, peak-blocks 50, leaked 0
//= ping: allocations 40, bytes 320, self-allocations 20, self-bytes 140, leaked 320, leaked-blocks 40
//= pong: allocations 39, bytes 313, self-allocations 20, self-bytes 180, leaked 313, leaked-blocks 39
//= main: allocations 90, bytes 5320, self-allocations 0, leaked 320
//= all: allocations 90, bytes 5320, peak 5000, leaked 320
#include <stdlib.h>

#include "corpus.h"

static int descend(int depth)
{
	void *p = used(malloc(100));
	int below = depth > 1 ? descend(depth - 1) : 0;
	free(p);
	return below + 1;
}

static int pong(int n);

static int ping(int n)
{
	used(malloc(7));
	int below = pong(n);
	used(&below); // something to do after the call, lest it become a jump
	return below + 1;
}

static int pong(int n)
{
	used(malloc(9));
	int below = n > 1 ? ping(n - 1) : 0;
	used(&below);
	return below + 1;
}

int main(void)
{
	return descend(50) + ping(20) != 50 + 40;
}
