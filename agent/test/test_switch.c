// SPDX-License-Identifier: Apache-2.0
//
// test_switch.c: tests everything that can change the outer frames of a deep stack while its inner ones look as before,
// or are not executed. The bound of deep.c must hold for all of it. So all stacks are deeper than HT_NEAR, events
// happen only at their leaves, and between two events only the change itself happens: stacks are judged at the end of
// each scenario.
//
// Every stack is compared from leaf to root with what the program knows about it; some, including the first of each
// kind, also with libgcc's.

#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include "../src/unwind/deep.h"
#include "check.h"
#include "fake.h"

#define NI __attribute__((noipa))
#define LEVELS_MAX 10000 // of two frames each
#define ENDS_MAX 200 // frames inside or outside of those
#define PCS_MAX (4 * LEVELS_MAX + 4 * ENDS_MAX)
#define LOG_MAX 20000
#define SAMPLE 16 // one in so many stacks is compared with libgcc's
#define OWN_STACK (256ul << 20)
#define OTHER_STACK (4ul << 20)

static __thread struct ht_memo memo __attribute__((tls_model("initial-exec")));
static volatile int sink;
static int failed;
static u32 random_state = 1;

static u32 rnd(u32 below)
{
	return (random_state = random_state * 1664525 + 1013904223) / 65536 % below;
}

static void *map(u64 size)
{
	void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		abort();
	return p;
}

// ---------------------------------------------------------------------------------------------------------------------
// Descents

// A descent of `top` levels: at each of them, descend calls itself through left or right.
struct descent {
	int top;
	int turn; // the level that takes the other side next
	int turns; // changes of side still to come
	int far; // turn at one of the outermost levels
	void (*leaf)(struct descent *);
	struct descent *outer; // the descent that runs this one on another stack
	void *other; // data of the leaf
	sigjmp_buf landing; // target of siglongjmp, outside of all levels
	u8 side[LEVELS_MAX + 1];
	// What the judge knows:
	u8 judged_side[LEVELS_MAX + 1];
	int root_count; // frames outside of the levels, or -1: unknown yet
	u64 root[ENDS_MAX];
};

// A log of what happened.
static struct happened {
	struct descent *d;
	u32 node; // an event's node
	int level; // or the level that changes sides
} happened[LOG_MAX];
static int happened_count;
// events that libgcc has judged; events at which only a part of the remembered stack was compared
static int sampled, part;

static u64 site_in_side[2], site_of_side[2], site_of_leaf; // return addresses

static void note(struct descent *d, u32 node, int level)
{
	if (happened_count == LOG_MAX)
		abort();
	happened[happened_count++] = (struct happened){d, node, level};
}

static void turn_at(struct descent *d, int level)
{
	d->side[level] ^= 1;
	note(d, 0, level);
}

static void choose_turn(struct descent *d)
{
	if (d->far || rnd(3) == 0)
		d->turn = d->top - (int)rnd(10);
	else
		d->turn = 1 + (int)rnd(1 + ((u32)(d->top - 1) >> rnd(12)));
}

static int goes_on(struct descent *d)
{
	if (d->turns == 0)
		return 0;
	d->turns--;
	turn_at(d, d->turn);
	choose_turn(d);
	return 1;
}

NI static void descend(struct descent *d, int level);

NI static void left(struct descent *d, int level)
{
	site_of_side[0] = (u64)__builtin_return_address(0);
	descend(d, level - 1);
	sink++;
}

NI static void right(struct descent *d, int level)
{
	site_of_side[1] = (u64)__builtin_return_address(0);
	descend(d, level - 1);
	sink--;
}

NI static void descend(struct descent *d, int level)
{
	if (level == 0) {
		site_in_side[d->side[1]] = (u64)__builtin_return_address(0);
		d->leaf(d);
		sink++;
		return;
	}
	do {
		if (d->side[level])
			right(d, level);
		else
			left(d, level);
	} while (level == d->turn && goes_on(d));
}

NI static void begin(struct descent *d)
{
	sigsetjmp(d->landing, 1);
	descend(d, d->top);
	sink++;
}

NI static void learn_leaf(struct descent *d)
{
	(void)d;
	site_of_leaf = (u64)__builtin_return_address(0);
}

static void new_descent(struct descent *d, int top, void (*leaf)(struct descent *))
{
	*d = (struct descent){.top = top, .leaf = leaf, .root_count = -1};
	for (int i = 1; i <= top; i++)
		d->judged_side[i] = d->side[i] = (u8)rnd(2);
	choose_turn(d);
}

static void learn_sites(void)
{
	static struct descent d;
	new_descent(&d, 1, learn_leaf);
	for (d.side[1] = 0; d.side[1] < 2; d.side[1]++) {
		d.turn = 0;
		begin(&d);
	}
}

// ---------------------------------------------------------------------------------------------------------------------
// Events and their judges

struct trace {
	u32 count;
	u64 pcs[PCS_MAX];
};

static _Unwind_Reason_Code trace_one(struct _Unwind_Context *context, void *data)
{
	struct trace *t = data;
	u64 pc = _Unwind_GetIP(context);
	if (t->count == PCS_MAX || !pc)
		return _URC_END_OF_STACK;
	t->pcs[t->count++] = pc;
	return _URC_NO_REASON;
}

static int is_libgccs(u32 node, u64 pc)
{
	static struct trace t;
	static u64 pcs[PCS_MAX];
	int truncated;
	u32 n = fake_path(node, pcs, PCS_MAX, &truncated), skip = 0;
	t.count = 0;
	_Unwind_Backtrace(trace_one, &t);
	while (skip < t.count && t.pcs[skip] != pc)
		skip++;
	return !truncated && n == t.count - skip && memcmp(pcs, t.pcs + skip, n * 8) == 0;
}

NI static void event(struct descent *d)
{
	const u64 *frame = __builtin_frame_address(0);
	u32 turn = memo.deep ? memo.deep->turn : 0;
	u32 node = ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
	part += memo.deep && memo.deep->turn != turn;
	note(d, node, 0);
	if (d->root_count == -1 || rnd(SAMPLE) == 0) {
		d->root_count = d->root_count == -1 ? -2 : d->root_count; // the judge will find out
		sampled++;
		if (!is_libgccs(node, frame[1])) {
			printf("libgcc sees a different stack\n");
			failed = 1;
		}
	}
	__asm__ volatile("" ::: "memory");
}

// Returns the index after the next frame of descend that calls leaf, from begin on.
static u32 up_to_leaf(const u64 *pcs, u32 begin, u32 n)
{
	while (begin < n && pcs[begin] != site_of_leaf)
		begin++;
	return begin + 1;
}

static int is_known(struct descent *d, const u64 *pcs, u32 n)
{
	u32 i = up_to_leaf(pcs, 0, n); // libgcc has judged what is inside of it
	for (; d; d = d->outer) {
		for (int level = 1; level <= d->top; level++, i += 2) {
			u8 side = d->judged_side[level];
			if (i + 2 > n || pcs[i] != site_in_side[side] || pcs[i + 1] != site_of_side[side])
				return 0;
		}
		if (d->root_count < 0) {
			d->root_count = (int)((d->outer ? up_to_leaf(pcs, i, n) : n) - i);
			if (d->root_count > ENDS_MAX || i + (u32)d->root_count > n)
				return 0;
			memcpy(d->root, pcs + i, (u32)d->root_count * 8);
		}
		u32 count = (u32)d->root_count;
		if (i + count > n || memcmp(pcs + i, d->root, count * 8) != 0)
			return 0;
		i += count;
	}
	return i == n;
}

static void judge(const char *name, int at_least)
{
	static u64 pcs[PCS_MAX];
	int stacks = 0, wrong = 0;
	for (struct happened *h = happened; h < happened + happened_count; h++) {
		int truncated;
		if (h->level) {
			h->d->judged_side[h->level] ^= 1;
			continue;
		}
		u32 n = fake_path(h->node, pcs, PCS_MAX, &truncated);
		stacks++;
		wrong += truncated || !is_known(h->d, pcs, n);
	}
	int bad = wrong || stacks < at_least || ht_deep_distrusted;
	printf("%-28s %5d stacks, %d wrong, %d compared in part, %d with libgcc's%s\n", name, stacks, wrong, part,
	       sampled, bad ? " FAILED" : "");
	failed |= bad;
	happened_count = part = sampled = 0;
	ht_deep_distrusted = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// Returns

static struct descent first, second;

static void returns(void)
{
	for (int i = 0; i < 4; i++) {
		new_descent(&first, LEVELS_MAX, event);
		first.far = i == 0;
		first.turns = 100;
		begin(&first);
		judge(first.far ? "returns to depth 10" : "returns to any depth", 101);
	}
}

// ---------------------------------------------------------------------------------------------------------------------
// longjmp to the outermost frame and to one in the middle

static int jumps;

static void jumping_leaf(struct descent *d)
{
	event(d);
	if (jumps-- <= 0)
		return;
	turn_at(d, d->turn > 0 ? d->turn : 1);
	choose_turn(d);
	siglongjmp(d->landing, 1);
}

static void begin_other(struct descent *d)
{
	begin(d->other);
}

static void longjmps(void)
{
	jumps = 100;
	new_descent(&first, LEVELS_MAX, jumping_leaf);
	begin(&first);
	judge("longjmp", 101);

	new_descent(&first, LEVELS_MAX, begin_other);
	new_descent(&second, 1000, jumping_leaf);
	second.outer = &first;
	first.other = &second;
	first.turns = 10;
	for (jumps = 100; jumps > 0;)
		begin(&first);
	judge("longjmp to the middle", 101);
}

// ---------------------------------------------------------------------------------------------------------------------
// Coroutines of ucontext

struct coroutine {
	ucontext_t own, back;
	int ended;
};
static struct coroutine one, two;
static __thread struct descent *starting;

NI static struct descent *started(void)
{
	return starting;
}

static void coroutine_main(void)
{
	struct descent *d = started();
	struct coroutine *c = d->other;
	begin(d);
	c->ended = 1;
	for (;;)
		swapcontext(&c->own, &c->back);
}

static void suspend(struct descent *d)
{
	struct coroutine *c = d->other;
	event(d);
	swapcontext(&c->own, &c->back);
	event(d);
}

static void create(struct coroutine *c, struct descent *d, int top, void *stack)
{
	new_descent(d, top, suspend);
	d->other = c;
	*c = (struct coroutine){0};
	getcontext(&c->own);
	c->own.uc_stack.ss_sp = stack;
	c->own.uc_stack.ss_size = OTHER_STACK;
	makecontext(&c->own, coroutine_main, 0);
}

NI static void resume(struct descent *d)
{
	struct coroutine *c = d->other;
	starting = d;
	if (!c->ended)
		swapcontext(&c->back, &c->own);
}

NI static void by_turns(void *stack_one, void *stack_two)
{
	create(&one, &first, 3000, stack_one);
	create(&two, &second, 3000, stack_two);
	memcpy(second.side, first.side, sizeof(first.side));
	second.side[2990] ^= 1;
	memcpy(second.judged_side, second.side, sizeof(second.side));
	first.turns = second.turns = 20;
	while (!one.ended || !two.ended) {
		resume(&first);
		resume(&second);
	}
}

static void coroutines(void)
{
	char *stacks = map(2 * OTHER_STACK);
	by_turns(stacks, stacks + OTHER_STACK);
	judge("two coroutines", 80);

	// One after the other on the same stack, equal except for an outer level.
	create(&one, &first, 3000, stacks);
	for (int i = 0; i < 40; i++) {
		turn_at(&first, 2900 + (int)rnd(100));
		makecontext(&one.own, coroutine_main, 0);
		resume(&first);
	}
	judge("coroutines on one stack", 40);

	// On a part of the thread's own stack.
	char *room = alloca(2 * OTHER_STACK);
	by_turns(room, room + OTHER_STACK);
	judge("coroutines within a frame", 80);
	munmap(stacks, 2 * OTHER_STACK);
}

// ---------------------------------------------------------------------------------------------------------------------
// Stacks switched by hand: the stack of a fiber continues where it was last resumed

struct fiber {
	u64 sp; // stack pointer of the side that does not run
	u64 caller; // the end of fiber_resume's frame
	void (*run)(void *);
	void *argument;
};

void fiber_resume(struct fiber *);
void fiber_suspend(struct fiber *);
void fiber_base(void);
__asm__(".text\n"
	".type fiber_resume, @function\nfiber_resume:\n.cfi_startproc\n"
	"lea 8(%rsp), %rax\nmov %rax, 8(%rdi)\n"
	".type fiber_suspend, @function\nfiber_suspend:\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"xchg %rsp, (%rdi)\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"ret\n.cfi_endproc\n"
	// Begins with rbp at the fiber. Its CFA is *(rbp + 8), the caller's rbp lies at CFA - 16.
	".type fiber_base, @function\nfiber_base:\n.cfi_startproc\n"
	".cfi_escape 0x0f, 3, 0x76, 8, 0x06\n.cfi_offset %rbp, -16\n"
	"nop\n"
	"0: mov 24(%rbp), %rdi\ncall *16(%rbp)\n"
	"mov %rbp, %rdi\ncall fiber_suspend\njmp 0b\n.cfi_endproc\n");

// At the outer end of its stack.
static struct fiber *fiber_create(char *end, void (*run)(void *), void *argument)
{
	struct fiber *f = (struct fiber *)((u64)(end - sizeof(*f)) & ~15ull);
	u64 *sp = (u64 *)f;
	*--sp = (u64)fiber_base + 1; // behind the nop
	*--sp = (u64)f; // rbp
	for (int i = 0; i < 5; i++)
		*--sp = 0;
	*f = (struct fiber){(u64)sp, 0, run, argument};
	return f;
}

static void fiber_leaf(struct descent *d)
{
	// The inner stack is unchanged while that of the caller changes.
	for (;;) {
		event(d);
		fiber_suspend(d->other);
	}
}

static void run_descent(void *d)
{
	begin(d);
}

static void resume_fiber(struct descent *d)
{
	if (rnd(4) == 0) // otherwise the previous event is the fiber's, too
		event(d);
	fiber_resume(d->other);
	sink++;
}

static void fibers_at(const char *name, int outer_top, char *end)
{
	new_descent(&first, outer_top, resume_fiber);
	new_descent(&second, LEVELS_MAX, fiber_leaf);
	second.outer = &first;
	first.other = second.other = fiber_create(end, run_descent, &second);
	first.turns = 100;
	begin(&first);
	judge(name, 101);
}

static void fibers(void)
{
	char *stack = map(OTHER_STACK);
	fibers_at("fiber elsewhere, deep below", 5000, stack + OTHER_STACK);
	fibers_at("fiber elsewhere", 20, stack + OTHER_STACK);
	munmap(stack, OTHER_STACK);
	// Inside the frame that resumes it: beyond the end of what the thread uses.
	char *here = __builtin_frame_address(0);
	fibers_at("fiber within a frame, far", 5000, here - (16 << 20));
	fibers_at("fiber within a frame, near", 20, here - (64 << 10));
	fibers_at("fiber within a frame, close", 20, here - (12 << 10));
}

// ---------------------------------------------------------------------------------------------------------------------
// Signal handlers on a stack of their own

static struct descent *interrupted;
static volatile int leaves;

static void on_signal(int signal)
{
	(void)signal;
	event(interrupted);
	if (!leaves)
		return;
	struct descent *d = interrupted;
	leaves--;
	turn_at(d, d->top - (int)rnd(10));
	siglongjmp(d->landing, 1);
}

static void interrupt(struct descent *d)
{
	event(d);
	interrupted = d;
	raise(SIGUSR1);
	event(d);
}

static void handlers(void)
{
	stack_t s = {.ss_sp = map(OTHER_STACK), .ss_size = OTHER_STACK}, none = {.ss_flags = SS_DISABLE};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaltstack(&s, 0);
	sigaction(SIGUSR1, &a, 0);
	for (int i = 0; i < 2; i++) {
		leaves = i ? 60 : 0;
		new_descent(&first, 5000, interrupt);
		first.turns = i ? 0 : 60;
		begin(&first);
		judge(i ? "handler leaves by siglongjmp" : "handler on another stack", 120);
	}
	sigaltstack(&none, 0);
	munmap(s.ss_sp, OTHER_STACK);
}

// ---------------------------------------------------------------------------------------------------------------------
// A stack on which another thread continues

static ucontext_t handed, waiting, of_other;
static sem_t to_other, to_this;
static volatile int all_done;

// Switches the stack to the other thread, and back: the caller continues in the other thread.
NI static void hand_over(void)
{
	swapcontext(&handed, &waiting);
}

NI static void hand_back(void)
{
	swapcontext(&handed, &of_other);
}

// Runs in this thread, on a small stack, while the other thread runs on this thread's own.
static void wait_for_other(void)
{
	for (;;) {
		sem_post(&to_other);
		while (sem_wait(&to_this))
			;
		swapcontext(&waiting, &handed);
	}
}

static void *other_thread(void *unused)
{
	for (;;) {
		while (sem_wait(&to_other))
			;
		if (all_done)
			return unused;
		swapcontext(&of_other, &handed);
		sem_post(&to_this);
	}
}

static void with_other(struct descent *d)
{
	event(d); // with the memo of the thread that runs
	if (d->other) {
		hand_back();
		d->other = 0;
	} else {
		hand_over();
		d->other = &handed;
	}
	event(d);
}

// So deep that a thread can rewrite only a part of it in the CPU time that waking up takes.
#define FAR_LEVELS 300000
static int far_way, far_events, far_wrong, far_away;
static u32 far_nodes[2];

NI static void far_event(void)
{
	const u64 *frame = __builtin_frame_address(0);
	u32 node = ht_capture(&memo, frame[1], (u64)(frame + 2), frame[0]);
	if (!far_nodes[far_way])
		far_nodes[far_way] = node;
	far_wrong += node != far_nodes[far_way] || node == far_nodes[!far_way];
	far_events++;
	__asm__ volatile("" ::: "memory");
}

NI static void far_down(int level)
{
	if (level > 0) {
		far_down(level - 1);
		sink++;
		return;
	}
	for (volatile int i = 0; i < 2; i++) { // with the memo of either thread, by one call
		far_event();
		if (i == 0 && far_away)
			hand_back();
		else if (i == 0)
			hand_over();
	}
	far_away ^= 1;
}

NI static void far_left(void)
{
	far_down(FAR_LEVELS);
	sink++;
}

NI static void far_right(void)
{
	far_down(FAR_LEVELS);
	sink--;
}

static void other_threads(void)
{
	pthread_t t;
	char *stack = map(1 << 20);
	getcontext(&waiting);
	waiting.uc_stack.ss_sp = stack;
	waiting.uc_stack.ss_size = 1 << 20;
	makecontext(&waiting, wait_for_other, 0);
	sem_init(&to_other, 0, 0);
	sem_init(&to_this, 0, 0);
	pthread_create(&t, 0, other_thread, 0);
	new_descent(&first, 5000, with_other);
	first.turns = 60;
	begin(&first);
	if (first.other)
		hand_back();
	judge("run by another thread", 122);
	for (int i = 0; i < 8; i++, far_way ^= 1)
		(far_way ? far_right : far_left)();
	all_done = 1;
	sem_post(&to_other);
	pthread_join(t, 0);
	munmap(stack, 1 << 20);
	printf("%-28s %5d stacks, %d wrong%s\n", "run by another, very deep", far_events, far_wrong,
	       far_wrong ? " FAILED" : "");
	failed |= far_wrong || ht_deep_distrusted;
	ht_deep_distrusted = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// Stacks that are copied away and back, as greenlets do

static struct image {
	u64 sp;
	char *copy;
} images[2];
static u64 copied_end; // end of the copied part
static int made, shown, rounds, differing;
static jmp_buf copies_over;
u64 copy_stack; // end of the stack on which the copying runs

int image_save(struct image *) __attribute__((returns_twice));
void image_load(struct image *) __attribute__((noreturn));
__attribute__((used)) static void save_bytes(struct image *i)
{
	memcpy(i->copy, (void *)i->sp, copied_end - i->sp);
}
__attribute__((used)) static void load_bytes(struct image *i)
{
	memcpy((void *)i->sp, i->copy, copied_end - i->sp);
}
__asm__(".text\n"
	".type image_save, @function\nimage_save:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rdi)\n"
	"sub $8, %rsp\ncall save_bytes\nadd $8, %rsp\n"
	"xor %eax, %eax\n"
	"0: pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
	".type image_load, @function\nimage_load:\n"
	"mov copy_stack(%rip), %rsp\n"
	"mov %rdi, %rbx\ncall load_bytes\n"
	"mov (%rbx), %rsp\nmov $1, %eax\njmp 0b\n");

static void copied_leaf(struct descent *d)
{
	if (image_save(&images[made]) == 0) {
		event(d);
		shown = made++;
		if (made == 1) {
			turn_at(d, differing);
			siglongjmp(d->landing, 1);
		}
	} else {
		event(d);
	}
	if (rounds-- == 0)
		longjmp(copies_over, 1);
	turn_at(d, differing);
	shown ^= 1;
	image_load(&images[shown]);
}

NI static void copies_of(int levels, int differing_level)
{
	new_descent(&first, levels, copied_leaf);
	made = 0;
	rounds = 100;
	differing = differing_level;
	copied_end = (u64)__builtin_frame_address(0);
	if (setjmp(copies_over) == 0)
		begin(&first);
}

static void copies(void)
{
	char *memory = map(3 * OTHER_STACK);
	images[0].copy = memory;
	images[1].copy = memory + OTHER_STACK;
	copy_stack = (u64)memory + 3 * OTHER_STACK;
	for (int levels = 2200; levels <= LEVELS_MAX; levels += 2600) {
		copies_of(levels, levels - (int)rnd(10));
		judge("stacks copied", 100);
	}
	munmap(memory, 3 * OTHER_STACK);
}

// ---------------------------------------------------------------------------------------------------------------------

static void *run(void *unused)
{
	learn_sites();
	returns();
	longjmps();
	coroutines();
	fibers();
	handlers();
	other_threads();
	copies();
	return unused;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	setvbuf(stdout, 0, _IOLBF, 0);
	check_start();
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, OWN_STACK);
	pthread_create(&t, &a, run, 0);
	pthread_join(t, 0);
	printf("deep stacks, switched: %s\n", failed ? "FAILED" : "ok");
	return failed;
}
