// A C program with what symbol tables are made of: static and global functions, aliases, weak ones, hand-written
// assembly, a function that ends with a call that does not return, functions that nobody needs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int twice(int x)
{
	return x + x;
}

__attribute__((noinline)) static int local_function(const char *s)
{
	int n = 0;
	for (; *s; s++)
		n += twice(*s) ^ (n << 1);
	return n;
}

__attribute__((noinline)) int exported(int n)
{
	char *p = malloc(n + 1);
	memset(p, 'x', n);
	p[n] = 0;
	int sum = local_function(p);
	free(p);
	return sum;
}

int also_exported(int n) __attribute__((alias("exported")));
int a_weak(int n) __attribute__((weak, alias("exported")));

__attribute__((noinline, noreturn)) void ends_with_call(int n)
{
	if (n > 1000)
		puts("large");
	exit(n & 1);
}

__attribute__((noinline)) int nobody_calls_this(int n)
{
	return exported(n) * 3;
}

__asm__(".text\n.globl in_assembly\n.type in_assembly, @function\nin_assembly:\n\tmov %edi, %eax\n\tadd $7, "
	"%eax\n\tret\n"
	".size in_assembly, .-in_assembly\n");
int in_assembly(int);

int main(int argc, char **argv)
{
	int sum = in_assembly(argc);
	for (int i = 0; i < argc; i++)
		sum += exported((int)strlen(argv[i])) + local_function(argv[i]);
	printf("%d\n", sum);
	ends_with_call(sum);
}
