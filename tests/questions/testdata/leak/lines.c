// Correct: it frees what it allocates. What libc keeps, such as stdout's buffer, is not a leak.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *hot(int n)
{
	static char buffer[100]; // hot, but it does not allocate
	snprintf(buffer, sizeof buffer, "line %d", n);
	return buffer;
}

int main(void)
{
	for (int n = 0; n < 1000; n++) {
		char *line = strdup(hot(n));
		if (n % 500 == 0)
			puts(line);
		free(line);
	}
	return 0;
}
