// Mapping changes are no allocations. 16 MiB are mapped; 4 MiB in the middle and the last 4 MiB are given back; what is
// left at the start grows from 4 to 12 MiB and moves; a mapping of 0 bytes fails.
//
//= all: allocations 3, bytes 300, deallocations 3, peak 300, leaked 0
//= work: allocations 3, bytes 300, peak 300, leaked 0
//= maps: mmap.calls 2, mmap.failed 1, mmap.bytes 16777216
//= maps: munmap.calls 2, munmap.failed 0, munmap.bytes 8388608
//= maps: mremap.calls 1, mremap.failed 0, mremap.bytes 12582912, mremap.old_bytes 4194304
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "corpus.h"

#define MIB (1 << 20)

static char *map(size_t size)
{
	return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int work(void)
{
	void *a = used(malloc(100));
	char *p = map(16 * MIB);
	munmap(p + 4 * MIB, 4 * MIB);
	void *b = used(malloc(100));
	munmap(p + 12 * MIB, 4 * MIB);
	char *q = mremap(p, 4 * MIB, 12 * MIB, MREMAP_MAYMOVE);
	void *c = used(malloc(100));
	int bad = p == MAP_FAILED || q == MAP_FAILED || map(0) != MAP_FAILED;
	free(b);
	free(a);
	free(c);
	return bad;
}

int main(void)
{
	return work();
}
