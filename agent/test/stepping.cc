// SPDX-License-Identifier: Apache-2.0
//
// stepping.cc: the program runs under its own trap flag: after every instruction the kernel sends SIGTRAP, whose
// handler makes an event. So every instruction executed here can be the top of a stack: of the program, libc's
// assembly, the vdso, the loader's lazy binding, the signal trampoline, and libgcc's own unwinder.

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <link.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tree.h"

// The handler's own event must not be stepped: the kernel clears the flag for handlers.
#define STEP_ON() \
	__asm__ volatile( \
		"lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" :: \
			: "memory", "cc")
#define STEP_OFF() \
	__asm__ volatile( \
		"lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" :: \
			: "memory", "cc")

static long last; // number of events after which stepping ends

static int enough()
{
	return __atomic_load_n(&check_events, __ATOMIC_RELAXED) >= last;
}

// ---- where steps happened

static struct place {
	uint64_t start, end;
	char name[32];
	long steps;
} places[16];
static unsigned place_count;
static long trampoline, elsewhere;

static int note_place(dl_phdr_info *info, size_t, void *)
{
	if (place_count == sizeof(places) / sizeof(*places))
		return 1;
	place *p = &places[place_count++];
	const char *name = info->dlpi_name, *slash = strrchr(name, '/');
	snprintf(p->name, sizeof(p->name), "%s", place_count == 1 ? "program" : slash ? slash + 1 : name);
	p->start = ~0ull;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + h->p_vaddr;
		if (h->p_type != PT_LOAD)
			continue;
		p->start = low < p->start ? low : p->start;
		p->end = low + h->p_memsz > p->end ? low + h->p_memsz : p->end;
	}
	return 0;
}

static void count_step(uint64_t pc)
{
	static const unsigned char sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	trampoline += memcmp((const void *)pc, sigreturn, sizeof(sigreturn)) == 0;
	for (unsigned i = 0; i < place_count; i++)
		if (pc - places[i].start < places[i].end - places[i].start) {
			places[i].steps++;
			return;
		}
	elsewhere++;
}

static void report_places()
{
	printf("    steps in");
	for (unsigned i = 0; i < place_count; i++)
		if (places[i].steps)
			printf(" %s %ld,", places[i].name, places[i].steps);
	printf(" elsewhere %ld; in the signal trampoline %ld\n", elsewhere, trampoline);
	// At least: the program, libgcc, libc, the loader.
	unsigned met = 0;
	for (unsigned i = 0; i < place_count; i++)
		met += places[i].steps > 0;
	if (met < 4 || !trampoline) {
		printf("too few steps: FAILED\n");
		exit(1);
	}
}

static void on_trap(int, siginfo_t *, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	count_step((uint64_t)registers[REG_RIP]);
	check_event();
	if (enough())
		registers[REG_EFL] &= ~0x100;
}

// Stepped to its end, and through the trampoline back to the interrupted instruction.
static void on_inner(int)
{
	if (!enough())
		STEP_ON();
	plain_small(0);
}

// ---- lazy binding: the slots of the program's calls into libraries are set back, so that each is bound anew

#define SLOTS 512
static struct {
	uint64_t *slots, saved[SLOTS];
	unsigned count;
} plt;

static int note_slots(dl_phdr_info *info, size_t, void *)
{
	uint64_t got = 0, size = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		for (ElfW(Dyn) *d = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); d->d_tag; d++) {
			if (d->d_tag == DT_PLTGOT)
				got = d->d_un.d_ptr;
			if (d->d_tag == DT_PLTRELSZ)
				size = d->d_un.d_val / sizeof(ElfW(Rela));
		}
	}
	plt.slots = (uint64_t *)got + 3;
	plt.count = size < SLOTS ? (unsigned)size : SLOTS;
	for (unsigned i = 0; i < plt.count; i++)
		plt.saved[i] = plt.slots[i];
	return 1; // the program comes first
}

// As early as possible: what has been bound already stays bound.
__attribute__((constructor)) static void note_plt()
{
	dl_iterate_phdr(note_slots, 0);
}

NI static void unbind()
{
	for (unsigned i = 0; i < plt.count; i++)
		plt.slots[i] = plt.saved[i];
}

// ---- what runs under the trap flag

static volatile long unused;
static char from[5000], to[5000];

static int less(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

NI static void library()
{
	size_t n = rnd() % 8 ? rnd() % 300 : rnd() % 5000;
	memset(from, 'a', n);
	from[n] = 0;
	memcpy(to, from, n + 1);
	memmove(to + 7, to, n / 2);
	unused = unused + (long)strlen(from) + memcmp(from, to, n) + strcmp(from, to) + (strchr(from, 'b') != 0);
	unused = unused + (strrchr(to, 'a') != 0) + (memchr(from, 0, n + 1) != 0) + (strstr(to, "aab") != 0);
	strncpy(to, from, n);
	timespec t;
	timeval v;
	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	gettimeofday(&v, 0);
	unused = unused + t.tv_nsec + v.tv_usec + time(0) + getppid();
	qsort(to, n % 24, 1, less);
	free(malloc(n));
	char line[100];
	snprintf(line, sizeof(line), "%ld %s %g", unused, "words", 1.5);
	unused = unused + strtol(line, 0, 10);
	jmp_buf here;
	if (setjmp(here) == 0)
		longjmp(here, 1);
}

static void at_leaf()
{
	if (rnd() % 8 == 0)
		qsort(to, 16, 1, less);
}

void stepping(long wanted)
{
	struct sigaction a = {};
	a.sa_sigaction = on_trap;
	a.sa_flags = SA_RESTART | SA_SIGINFO;
	sigaction(SIGTRAP, &a, 0);
	a.sa_handler = on_inner;
	a.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &a, 0);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, 0);
	check_lenient = 1;
	leaf = at_leaf;
	last = wanted;
	dl_iterate_phdr(note_place, 0);
	for (unsigned round = 0; !enough(); round++) {
		if (round % 4 == 0)
			unbind();
		STEP_ON();
		if (round % 2)
			library();
		else
			scenario_menu.makers[round / 2 % scenario_menu.count](0);
		STEP_OFF();
	}
	report_places();
}
