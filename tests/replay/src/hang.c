// An allocator that hands out some blocks, and then never returns.
#include <stddef.h>
#include <unistd.h>

static char pool[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	size = (size + 15) & ~(size_t)15;
	while (size > sizeof pool - used)
		sleep(1);
	used += size;
	return pool + used - size;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *p, size_t size)
{
	(void)p;
	return malloc(size);
}

void free(void *p)
{
	(void)p;
}
