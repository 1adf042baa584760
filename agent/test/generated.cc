// SPDX-License-Identifier: Apache-2.0
//
// generated.cc: frames of machine code that is generated at run time, without call frame information. libgcc stops at
// such a frame. We know the frames beyond it, and compare them if the code keeps frame pointers.

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "tree.h"

#define NEST 4
#define FUNCTIONS 6
#define AREA 4096

typedef void code(int depth);

// Notes the stack (check_remember), then calls f(depth): both from here.
extern "C" void call_generated(code *f, int depth, struct check_known *k, const char *after);
extern "C" const char after_generated[] __attribute__((visibility("hidden")));
__asm__(".text\n.hidden call_generated\n.globl call_generated\n.type call_generated, @function\n"
	"call_generated:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"mov %rdi, %rbx\nmov %esi, %r12d\n"
	"mov %rdx, %rdi\nmov %rcx, %rsi\ncall check_remember@PLT\n"
	"mov %r12d, %edi\ncall *%rbx\n"
	".hidden after_generated\n.globl after_generated\nafter_generated:\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"ret\n.cfi_endproc\n.size call_generated, .-call_generated\n");

enum style { KEEPS_FRAME_POINTER, LEAVES_RBP, USES_RBP };

static char *put(char *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}
#define PUT(bytes) p = put(p, bytes, sizeof(bytes) - 1)

static char *put32(char *p, uint32_t v)
{
	return put(p, (const char *)&v, 4);
}

// One function that calls `target`. Returns where the next may begin; *pc is the call's return address.
static char *make_function(char *p, style s, uint64_t target, uint64_t *pc)
{
	static char block[64];
	// What compiled code may have in rbp: nothing, numbers, addresses of anything.
	const uint64_t in_rbp[] = {0, 1, 8, 0x1234567, ~0ull, (uint64_t)block, (uint64_t)&call_generated};
	uint32_t room = 16 * (uint32_t)(rnd() % 40);
	if (s == KEEPS_FRAME_POINTER) {
		PUT("\x55\x48\x89\xe5\x48\x81\xec"); // push rbp; mov rbp, rsp; sub rsp, room
		p = put32(p, room);
	} else if (s == USES_RBP) {
		PUT("\x55\x48\xbd"); // push rbp; mov rbp, ...
		p = put(p, (const char *)&in_rbp[rnd() % 7], 8);
	} else {
		PUT("\x48\x81\xec"); // sub rsp, room + 8
		p = put32(p, room + 8);
	}
	PUT("\x48\xb8"); // mov rax, target
	p = put(p, (const char *)&target, 8);
	PUT("\xff\xd0"); // call rax
	*pc = (uint64_t)p;
	if (s == KEEPS_FRAME_POINTER)
		PUT("\xc9"); // leave
	else if (s == USES_RBP)
		PUT("\x5d"); // pop rbp
	else {
		PUT("\x48\x81\xc4"); // add rsp, room + 8
		p = put32(p, room + 8);
	}
	PUT("\xc3");
	return p;
}

static void from_generated(int depth)
{
	any(depth);
	sink = sink + 1;
}

NI static void generated(int depth, style s)
{
	static thread_local char *area;
	static thread_local int nest;
	static thread_local struct check_known known[NEST];
	if (nest == NEST)
		return any(depth);
	if (!area)
		area = (char *)mmap(0, NEST * AREA, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				    0);
	struct check_known *k = &known[nest];
	char *p = area + nest * AREA + 16 * (rnd() % 8);
	uint64_t target = (uint64_t)from_generated, pc;
	// The innermost first; its caller is generated next.
	unsigned n = 1 + (unsigned)(rnd() % FUNCTIONS);
	k->count = 0;
	k->exact = s == KEEPS_FRAME_POINTER;
	for (unsigned i = 0; i < n; i++) {
		char *start = p;
		p = make_function(p, s, target, &pc);
		if (i > 0) // libgcc reports the first one itself
			k->pcs[k->count++] = pc;
		target = (uint64_t)start;
	}
	nest++;
	call_generated((code *)target, depth, k, after_generated);
	nest--;
	check_forget();
}

void with_frame_pointer(int depth)
{
	generated(depth, KEEPS_FRAME_POINTER);
}

void without_frame_pointer(int depth)
{
	generated(depth, LEAVES_RBP);
}

void with_rbp_in_use(int depth)
{
	generated(depth, USES_RBP);
}
