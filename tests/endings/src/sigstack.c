// SPDX-License-Identifier: Apache-2.0
//
// sigstack BYTES: a signal handler allocates, for the first time ever and again, on a signal stack of so many bytes,
// below which there is a guard page.
#include "step.h"

#include <signal.h>

static void handler(int sig)
{
	(void)sig;
	step_free(step_alloc(100));
	step_free(step_alloc(200));
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? (size_t)atol(argv[1]) : 65536, room = (size + 8191) & ~4095ul;
	char *p = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = p + 4096, .ss_size = size};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	if (p == MAP_FAILED || mprotect(p, 4096, PROT_NONE) != 0)
		return 1;
	if (sigaltstack(&stack, NULL) != 0)
		return 2; // smaller than what the kernel accepts
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	raise(SIGUSR1);
	return 7;
}
