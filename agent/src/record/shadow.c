// SPDX-License-Identifier: Apache-2.0
//
// shadow.c: a shadow stack, kept by instrumented functions.
//
// Each entry is a function that has begun and, as far as is known, has not ended. A function may also end by longjmp or
// by an exception, without the exit being reported. So an entry is dropped if its stack pointer is below that of a
// later call, or if its return address is no longer in its frame when an event first needs it.
//
// At an event, the entries' call sites are the return addresses that the unwinder would find, except for those of
// functions that are not instrumented and were called in between. The size of each frame shows whether there are any:
// the rule of the call site (rules.h), applied once, leads to the frame of the entry below, or does not. If not, the
// beginning of that entry's function replaces the unknown address.

#include "base/environ.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/state.h"
#include "unwind/cct.h"
#include "unwind/memo.h"
#include "unwind/rules.h"
#include "unwind/shadow.h"
#include "unwind/stack.h"
#include "record/record.h"
#include "record/thread.h"

#define ENTRIES_MAX (1u << 18) // reserved, not touched

struct entry {
	u64 sp, fp, pc; // at its call of the agent
	u64 site; // the address that it was called from
	u64 within; // an address in it, or in the function inlined there that has begun last
	u64 cfa; // where the frame ends; 0: not known
	u32 nested; // functions inlined into it that have begun: they share the frame
	u32 frames; // frames of the call stack up to and including this entry
};

// One for each thread. Signal handlers leave it as they found it, unless by longjmp: see above.
struct ht_shadow {
	u32 n; // entries
	u32 built; // how many of these have their frames in the memo
	u32 overflow; // functions that have begun beyond ENTRIES_MAX
	const struct ht_memo *memo;
	struct entry entries[];
};

u32 ht_enter_exit;
static __thread struct ht_shadow *own __attribute__((tls_model("initial-exec")));

void ht_shadow_init(void)
{
	const char *method = ht_environ_get("HEAPTAP_STACK");
	ht_enter_exit = method && ht_streq(method, "enter-exit");
	if (method && !ht_enter_exit && !ht_streq(method, "unwind"))
		ht_complain("HEAPTAP_STACK", method, "unwind or enter-exit");
}

static HT_COLD struct ht_shadow *shadow_of_thread(void)
{
	struct ht_thread *t = ht_local.thread;
	if (t == &ht_no_thread)
		return 0;
	if (!t->shadow)
		t->shadow = ht_map(sizeof(struct ht_shadow) + ENTRIES_MAX * sizeof(struct entry));
	if (t->shadow)
		t->shadow->n = t->shadow->built = t->shadow->overflow = 0;
	return own = t->shadow;
}

HT_INLINE void pop(struct ht_shadow *s)
{
	s->n--;
	if (s->built > s->n)
		s->built = s->n;
}

// Drops the entries that have ended unreported, as the stack pointer shows.
HT_INLINE void drop_below(struct ht_shadow *s, u64 sp)
{
	while (s->n && s->entries[s->n - 1].sp < sp)
		pop(s);
}

void ht_shadow_enter(u64 site, struct ht_caller c)
{
	struct ht_shadow *s = own;
	if (ht_unlikely(!s) && !(s = shadow_of_thread()))
		return;
	drop_below(s, c.sp);
	struct entry *top = &s->entries[s->n - 1];
	if (s->n && top->sp == c.sp) {
		if (top->site == site) {
			top->nested++;
			top->within = c.pc;
			return;
		}
		pop(s); // another call uses its frame by now
	}
	if (ht_unlikely(s->n == ENTRIES_MAX)) {
		s->overflow++;
		return;
	}
	struct entry e = {c.sp, c.fp, c.pc, site, c.pc, 0, 0, 0};
	s->entries[s->n] = e;
	HT_FENCE();
	s->n++;
	HT_FENCE();
	s->entries[s->n - 1] = e; // a signal handler may have used the place meanwhile
}

void ht_shadow_exit(u64 site, struct ht_caller c)
{
	struct ht_shadow *s = own;
	if (!s)
		return;
	if (ht_unlikely(s->overflow)) {
		s->overflow--;
		return;
	}
	drop_below(s, c.sp);
	struct entry *top = &s->entries[s->n - 1];
	if (!s->n || top->site != site)
		return;
	if (top->nested) {
		top->nested--;
		top->within = top->pc;
	} else {
		pop(s);
	}
}

// ---------------------------------------------------------------------------------------------------------------------
// At an event

HT_INLINE int can_read(const struct ht_memo *memo, u64 at)
{
	return at - memo->low <= memo->high - 8 - memo->low;
}

// Returns where the frame with these registers ends; 0 if the rule does not say.
static u64 frame_end(const struct ht_memo *memo, u64 rule, u64 sp, u64 fp)
{
	u64 cfa = 0, at = fp + HT_RULE_OFFSET(rule);
	switch (HT_RULE_TYPE(rule)) {
	case HT_R_SP:
		cfa = sp + HT_RULE_OFFSET(rule);
		break;
	case HT_R_FP:
		cfa = at;
		break;
	case HT_R_LOAD_FP:
		cfa = can_read(memo, at) ? *(const u64 *)at : 0;
		break;
	}
	return cfa > sp && can_read(memo, cfa - 8) ? cfa : 0;
}

// The frame pointer of the caller of the frame with this rule, frame pointer and end.
static u64 caller_fp(const struct ht_memo *memo, u64 rule, u64 fp, u64 cfa)
{
	u64 at = (HT_RULE_FP(rule) == HT_FP_AT_CFA ? cfa : fp) + HT_RULE_FP_OFFSET(rule);
	if (HT_RULE_FP_STAYS(rule))
		return fp;
	return can_read(memo, at) ? *(const u64 *)at : 0;
}

// Puts pc behind the first n frames; returns n + 1, or 0: there is no memory.
static u32 add(struct ht_memo *memo, u32 n, u64 pc)
{
	if (ht_unlikely(n >= memo->frame_capacity) && ht_memo_more_frames(memo, 0) < 0)
		return 0;
	struct ht_frame *f = &memo->frames[n];
	*f = (struct ht_frame){.pc = pc, .rule = ht_rule_get(memo, pc)};
	f->hash = ht_cct_hash(n ? f[-1].hash : HT_CCT_ROOT, HT_RULE_PC_ID(f->rule));
	return n + 1;
}

// Adds the frame that calls from `pc` with these registers. Before it, adds the function of the entry below, if that
// has called a function that is not instrumented.
static u32 add_above(struct ht_memo *memo, const struct entry *below, u32 n, u64 pc, u64 sp, u64 fp)
{
	u64 rule = ht_rule_get(memo, pc), cfa = frame_end(memo, rule, sp, fp);
	if (below && (!cfa || cfa != below->cfa) && !(n = add(memo, n, below->within)))
		return 0;
	return add(memo, n, pc);
}

// Adds the frames of entry i. 0, or -1: the entry's function has ended, or there is no memory.
static int add_entry(struct ht_shadow *s, struct ht_memo *memo, u32 i)
{
	struct entry *e = &s->entries[i], *below = i ? e - 1 : 0;
	u64 rule = ht_rule_get(memo, e->pc);
	e->cfa = frame_end(memo, rule, e->sp, e->fp);
	if (e->cfa && *(const u64 *)(e->cfa - 8) != e->site)
		return -1;
	e->frames = add_above(memo, below, below ? below->frames : 0, e->site, e->cfa ? e->cfa : e->sp,
			      caller_fp(memo, rule, e->fp, e->cfa));
	return e->frames ? 0 : -1;
}

// Takes over the memo: what the unwinder remembers in it is dropped.
static int take(struct ht_shadow *s, struct ht_memo *memo)
{
	u64 generation = ht_load_acquire(&ht_state->generation);
	if (s->memo == memo && memo->generation == generation && !memo->top && !memo->depth)
		return 0;
	ht_memo_forget(memo);
	s->built = 0;
	s->memo = memo;
	memo->generation = generation;
	return ht_memo_start(memo);
}

u32 ht_shadow_capture(struct ht_memo *memo, u64 pc, u64 sp, u64 fp)
{
	struct ht_shadow *s = own;
	struct ht_bounds bounds;
	u32 n, node;

	if (!s || memo != &ht_local.thread->memo)
		return 0;
	drop_below(s, sp);
	if (s->overflow || !s->n || ht_bounds_find(memo, sp, &bounds) < 0 || !bounds.own || take(s, memo) < 0) {
		s->built = 0; // the unwinder will use the memo
		return 0;
	}
	for (u32 i = s->built; i < s->n;) {
		if (add_entry(s, memo, i) < 0) {
			__builtin_memmove(&s->entries[i], &s->entries[i + 1], (s->n - i - 1) * sizeof(struct entry));
			s->n--;
			continue;
		}
		s->built = ++i;
	}
	const struct entry *top = s->n ? &s->entries[s->n - 1] : 0;
	n = add_above(memo, top, top ? top->frames : 0, pc, sp, fp);
	if (!n)
		return 0;
	node = ht_cct_find(memo->frames[n - 1].hash);
	return node ? node : ht_make_path(memo->frames, n - 1, 0);
}
