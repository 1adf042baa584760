// SPDX-License-Identifier: Apache-2.0
//
// start.c: where the player begins. The compiler's own start files need the C library of the machine that built them;
// this needs glibc 2.17.

int player_main(int argc, char **argv);
int start_libc(int (*main)(int, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
	       void (*rtld_fini)(void), void *stack_end);
__asm__(".symver start_libc, __libc_start_main@GLIBC_2.2.5");

static void nothing(void)
{
}

__attribute__((used, visibility("hidden"))) void start_c(long *stack, void (*rtld_fini)(void))
{
	start_libc(player_main, (int)stack[0], (char **)(stack + 1), nothing, nothing, rtld_fini, stack);
}

__asm__(".text\n"
	".globl _start\n.type _start, @function\n"
	"_start:\n"
	"xor %ebp, %ebp\n"
	"mov %rsp, %rdi\n"
	"mov %rdx, %rsi\n"
	"and $-16, %rsp\n"
	"call start_c\n"
	"hlt\n");
