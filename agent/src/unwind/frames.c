// SPDX-License-Identifier: Apache-2.0
//
// frames.c: call frame information of generated code.
//
// A JIT passes an .eh_frame section to __register_frame for each piece of code that it makes, so that exceptions can
// pass through it. We use the same sections. They are kept in a list without locks. Only a section that covers the
// address is read: that one must not be removed while it is on a stack, but others may be added and removed at any
// time.

#include "unwind/frames.h"
#include "base/state.h"
#include "spool/arrays.h"
#include "unwind/rules.h"

#define SECTIONS 4096 // the most sections at once
#define SECTION_MAX (64u << 20) // bytes

static struct section {
	u64 begin; // 0: free; 1: being filled
	u64 end;
	u64 code, code_end;
} sections[SECTIONS] HT_LARGE;
static u32 used; // number of entries that were ever used

// Drops the rules that were guessed for code that is known now, or derived for code that is gone.
static void forget_guesses(void)
{
	ht_rules_drop(0, ~0ull, 1);
	ht_generation_raise();
}

// Returns the end of a section with a terminator; 0 if it has none.
static u64 end_of(u64 at)
{
	u64 limit = at + SECTION_MAX;
	while (at < limit) {
		u64 length = *(const u32 *)at;
		if (!length)
			return at + 4;
		at += 4;
		if (length == 0xffffffff) {
			length = *(const u64 *)at;
			at += 8;
		}
		if (length > SECTION_MAX)
			return 0;
		at += length;
	}
	return 0;
}

void ht_frames_add(u64 begin)
{
	struct ht_cfi_text text = {begin, 0, 0, begin};
	u64 code, code_end;

	if (!begin || !*(const u32 *)begin || !(text.high = end_of(begin)) || ht_cfi_cover(&text, &code, &code_end) < 0)
		return;
	for (u32 i = 0; i < SECTIONS; i++) {
		struct section *s = &sections[i];
		u64 none = 0;
		if (ht_load(&s->begin) ||
		    !__atomic_compare_exchange_n(&s->begin, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		s->end = text.high;
		s->code = code;
		s->code_end = code_end;
		ht_store_release(&s->begin, begin);
		for (u32 n = ht_load(&used); n <= i;)
			if (__atomic_compare_exchange_n(&used, &n, i + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
				break;
		forget_guesses();
		return;
	}
	ht_count(HT_C_TABLE_FULL);
}

void ht_frames_remove(u64 begin)
{
	u32 n = ht_load_acquire(&used);
	for (u32 i = 0; i < n; i++) {
		u64 there = begin;
		if (begin > 1 &&
		    __atomic_compare_exchange_n(&sections[i].begin, &there, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			forget_guesses();
			return;
		}
	}
}

int ht_frames_at(u64 at, struct ht_cfi_text *text)
{
	u32 n = ht_load_acquire(&used);
	for (u32 i = 0; i < n; i++) {
		const struct section *s = &sections[i];
		u64 begin = ht_load_acquire(&s->begin);
		u64 code = ht_load(&s->code), code_end = ht_load(&s->code_end), end = ht_load(&s->end);
		if (begin > 1 && at - code < code_end - code && ht_load_acquire(&s->begin) == begin) {
			*text = (struct ht_cfi_text){begin, end, 0, begin};
			return 1;
		}
	}
	return 0;
}
