// SPDX-License-Identifier: Apache-2.0
//
// throw.cc: leaves operator new by other ways than a return. Usage: throw N
//
//   throws    bad_alloc passes through the agent's frame, N times
//   thrown    the new_handler itself throws, N times
//   jumps     the new_handler longjmps out, N times
//   retries   a new_handler frees a reserve, allocates a little itself, and the real operator new then succeeds (an
//             address space limit makes the first attempt fail)
//
// After each, after() allocates and frees a block: a guard that stayed set would hide that.
#include <csetjmp>
#include <cstdlib>
#include <new>
#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

#define NI __attribute__((noinline, noclone))

static void *volatile hold;
static volatile size_t huge = size_t(1) << 62;
static jmp_buf out;
static void *reserve;

extern "C" NI void after()
{
	hold = malloc(71);
	free(hold);
}

extern "C" NI int throws()
{
	try {
		hold = ::operator new(huge);
	} catch (const std::bad_alloc &) {
		after();
		return 1;
	}
	return 0;
}

extern "C" NI void handler_throws()
{
	hold = malloc(72); // a new_handler is the program's own code: recorded
	free(hold);
	throw std::bad_alloc();
}

extern "C" NI int thrown()
{
	std::set_new_handler(handler_throws);
	int n = throws();
	std::set_new_handler(nullptr);
	return n;
}

extern "C" NI void handler_jumps()
{
	longjmp(out, 1);
}

extern "C" NI int jumps()
{
	std::set_new_handler(handler_jumps);
	int n = 0;
	if (setjmp(out) == 0) {
		hold = ::operator new[](huge);
	} else {
		after();
		n = 1;
	}
	std::set_new_handler(nullptr);
	return n;
}

extern "C" NI void handler_frees()
{
	free(reserve);
	reserve = nullptr;
	hold = malloc(73);
	free(hold);
	std::set_new_handler(nullptr);
}

static long virtual_size()
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%ld", &pages) != 1)
		_exit(9);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

extern "C" NI int retries()
{
	const size_t big = size_t(400) << 20;
	struct rlimit old, tight;
	getrlimit(RLIMIT_AS, &old);
	reserve = malloc(big);
	tight = old;
	tight.rlim_cur = rlim_t(virtual_size()) + big / 2;
	if (setrlimit(RLIMIT_AS, &tight))
		return 0;
	std::set_new_handler(handler_frees);
	void *p = nullptr;
	int n = 0;
	try {
		p = ::operator new(big);
		n = reserve == nullptr; // the handler has run
	} catch (const std::bad_alloc &) {
	}
	setrlimit(RLIMIT_AS, &old);
	std::set_new_handler(nullptr);
	after();
	::operator delete(p);
	return n;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, ok = 0;
	for (int i = 0; i < n; i++)
		ok += throws() + thrown() + jumps();
	ok += retries();
	if (ok != 3 * n + 1)
		return 1;
	return write(1, "done\n", 5) == 5 ? 0 : 1;
}
