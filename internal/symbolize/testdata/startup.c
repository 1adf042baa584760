/* A program with little but _start and main. */
#include <stdio.h>

__attribute__((noinline)) int twice(int n)
{
	return 2 * n;
}

int main(int argc, char **argv)
{
	return printf("%d %s\n", twice(argc), argv[0]) < 0;
}
