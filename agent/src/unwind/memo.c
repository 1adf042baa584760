// SPDX-License-Identifier: Apache-2.0
//
// memo.c: allocates the memory of a thread's memo.
//
// A signal handler may leave the agent by longjmp between any two instructions. So while an array is moved, the memo
// has none. (A longjmp then leaks the array, but the memo stays consistent.)

#include "unwind/memo.h"
#include "base/memory.h"
#include "unwind/complex.h"
#include "unwind/deep.h"
#include "unwind/stack.h"

#define FIRST_FRAMES 340 // 4 pages
#define FIRST_CHECKS 512 // 2 pages
#define BUFFERS (2 * (HT_LOOSE_MAX + 1) * sizeof(struct ht_frame) + HT_WALK_SIZE) // 1 page

// Even, like its arguments.
static u32 larger(u32 capacity)
{
	return capacity < 4096 ? capacity * 2 : capacity + (capacity / 4 & ~1u);
}

HT_NOINLINE i32 ht_find_mismatch(const struct ht_check_pair *c, u32 n)
{
	while (n > 0) {
		n--;
		if (*HT_CHECK_AT(c, n) != HT_CHECK_VALUE(c, n))
			return (i32)n;
	}
	return -1;
}

int ht_memo_start(struct ht_memo *memo)
{
	if (!memo->frames) {
		struct ht_frame *f = ht_map(FIRST_FRAMES * sizeof(*f));
		if (!f)
			return -1;
		memo->frame_capacity = memo->near_capacity = FIRST_FRAMES;
		HT_FENCE();
		memo->frames = f;
	}
	if (!memo->buffers) {
		struct ht_frame *f = ht_map(BUFFERS);
		if (!f)
			return -1;
		memo->loose_end = f + HT_LOOSE_MAX + 1;
		memo->both_ends = (u64)memo->loose_end + (u64)(memo->loose_end + HT_LOOSE_MAX + 1);
		HT_FENCE();
		memo->buffers = f;
	}
	if (!memo->checks) {
		struct ht_check_pair *c = ht_map(FIRST_CHECKS / 2 * sizeof(*c));
		if (!c)
			return -1;
		memo->check_capacity = FIRST_CHECKS;
		HT_FENCE();
		memo->checks = c;
	}
	return 0;
}

int ht_memo_more_frames(struct ht_memo *memo, u32 new_frames)
{
	u32 old = memo->frame_capacity, capacity = larger(old);
	struct ht_frame *frames = memo->frames, *f;

	if (capacity > HT_FRAMES_MAX + HT_FRAMES_NEW)
		capacity = HT_FRAMES_MAX + HT_FRAMES_NEW;
	if (capacity <= old)
		return -1;
	memo->frames = 0;
	HT_FENCE();
	f = ht_remap(frames, old * sizeof(*f), capacity * sizeof(*f));
	if (!f) {
		memo->frames = frames;
		return -1;
	}
	__builtin_memmove(f + capacity - new_frames, f + old - new_frames, new_frames * sizeof(*f));
	memo->frame_capacity = capacity;
	memo->near_capacity = capacity < HT_NEAR ? capacity : HT_NEAR;
	HT_FENCE();
	memo->frames = f;
	return 0;
}

int ht_memo_more_checks(struct ht_memo *memo, u32 checks)
{
	u32 old = memo->check_capacity, capacity = old;
	struct ht_check_pair *now = memo->checks, *c;

	while (capacity < checks)
		capacity = larger(capacity);
	if (capacity == old)
		return 0;
	memo->checks = 0;
	HT_FENCE();
	c = ht_remap(now, old / 2 * sizeof(*c), capacity / 2 * sizeof(*c));
	if (!c) {
		memo->checks = now;
		return -1;
	}
	memo->check_capacity = capacity;
	HT_FENCE();
	memo->checks = c;
	return 0;
}

void ht_memo_free(struct ht_memo *memo)
{
	ht_memo_forget(memo);
	HT_FENCE();
	if (memo->frames)
		ht_unmap(memo->frames, memo->frame_capacity * sizeof(struct ht_frame));
	if (memo->checks)
		ht_unmap(memo->checks, memo->check_capacity / 2 * sizeof(struct ht_check_pair));
	if (memo->buffers)
		ht_unmap(memo->buffers, BUFFERS);
	if (memo->scratch)
		ht_unmap(memo->scratch, memo->scratch_size);
	if (memo->complex)
		ht_unmap(memo->complex, memo->complex_capacity * sizeof(struct ht_complex));
	if (memo->deep)
		ht_unmap(memo->deep, sizeof(struct ht_deep));
	__builtin_memset(memo, 0, sizeof(*memo));
}
