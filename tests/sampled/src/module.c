// module.c: what unload.c loads. NAME is the function that allocates, with a frame of FRAME bytes.
#include <stdlib.h>

static void *__attribute__((noinline)) NAME(size_t size)
{
	volatile char frame[FRAME];
	frame[0] = 1;
	void *p = malloc(size + frame[0]);
	frame[1] = frame[0];
	return p;
}

void go(void)
{
	for (int i = 0; i < 500; i++) {
		void *volatile p = NAME(99);
		free(p);
	}
}
