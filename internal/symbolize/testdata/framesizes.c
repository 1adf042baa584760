// Prints, for calls of functions with frames of different sizes: the return address within the program, and the bytes
// from the stack pointer at the call to that before the caller was called. __builtin_dwarf_cfa() is the latter.
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone, noipa))
extern const char __executable_start[];
static volatile int zero;

NOINLINE void seen(char *cfa, const char *name)
{
	char *mine = __builtin_dwarf_cfa();
	printf("%s %zx %zd\n", name, (uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start,
	       cfa - mine);
}

NOINLINE int empty(void)
{
	seen(__builtin_dwarf_cfa(), "empty");
	return zero;
}
NOINLINE int small(void)
{
	volatile char a[40];
	a[zero] = 1;
	seen(__builtin_dwarf_cfa(), "small");
	return a[zero];
}
NOINLINE int large(void)
{
	volatile char a[70000];
	a[zero] = 1;
	seen(__builtin_dwarf_cfa(), "large");
	return a[zero];
}
NOINLINE int dynamic(int n)
{
	char *p = alloca(n);
	memset(p, 1, n);
	seen(__builtin_dwarf_cfa(), "dynamic");
	return p[zero];
}
int main(void)
{
	return empty() + small() + large() + dynamic(1000 + zero) < 0;
}
