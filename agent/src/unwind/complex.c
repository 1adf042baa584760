// SPDX-License-Identifier: Apache-2.0
//
// complex.c: implements complex.h. The list is root first, like the frames.

#include "unwind/complex.h"
#include "base/memory.h"
#include "unwind/rules.h"
#include "unwind/stack.h"

#define FIRST 30 // 2 pages

static int make_room(struct ht_memo *memo)
{
	u32 old = memo->complex_capacity, capacity = old ? old * 2 : FIRST;
	struct ht_complex *list;
	if (memo->complex_noted < old)
		return 0;
	if (old)
		list = ht_remap(memo->complex, old * sizeof(*list), capacity * sizeof(*list));
	else
		list = ht_map(capacity * sizeof(*list));
	if (!list)
		return -1;
	memo->complex = list;
	memo->complex_capacity = capacity;
	return 0;
}

static int on_own_stack(const struct ht_memo *memo, u64 at)
{
	return at - memo->low <= memo->high - 8 - memo->low;
}

int ht_complex_note(struct ht_memo *memo, u32 number)
{
	const struct ht_full_needs *needs = &((const struct ht_scratch *)memo->scratch)->needs;
	if (needs->unknown || make_room(memo) < 0)
		return -1;
	for (u32 i = 0; i < HT_FULL_CELLS; i++)
		if (needs->cells[i] && !on_own_stack(memo, needs->cells[i]))
			return -1;
	for (u32 i = 0; i < HT_KEPT; i++)
		if (needs->registers & 1u << i && needs->kept[i].at && !on_own_stack(memo, needs->kept[i].at))
			return -1;
	struct ht_complex *c = &memo->complex[memo->complex_noted++];
	c->frame = number;
	c->needs = *needs;
	return 0;
}

static void find_least(struct ht_memo *memo, u32 from)
{
	for (u32 i = from; i < memo->complex_count; i++) {
		struct ht_complex *c = &memo->complex[i];
		c->least = i ? c[-1].least : ~0ull;
		for (u32 r = 0; r < HT_KEPT; r++)
			if (c->needs.registers & 1u << r && c->needs.kept[r].sp < c->least)
				c->least = c->needs.kept[r].sp;
	}
}

void ht_complex_place(struct ht_memo *memo, u32 base, u32 n)
{
	struct ht_complex *list = memo->complex;
	u32 noted = memo->complex_count, end = memo->complex_noted;
	ht_complex_keep(memo, base);
	u32 first = memo->complex_count, count = end - noted;
	// The new ones are leaf first.
	for (u32 i = noted, k = end; i + 1 < k; i++) {
		struct ht_complex c = list[i];
		list[i] = list[--k];
		list[k] = c;
	}
	if (first < noted)
		__builtin_memmove(&list[first], &list[noted], count * sizeof(*list));
	for (u32 i = first; i < first + count; i++)
		list[i].frame = base + (n - list[i].frame);
	memo->complex_count = memo->complex_noted = first + count;
	find_least(memo, first);
}

// Returns how many complex frames there are up to frame k.
static u32 count_to(const struct ht_memo *memo, u32 k)
{
	u32 low = 0, high = memo->complex_count;
	while (low < high) {
		u32 middle = (low + high) / 2;
		if (memo->complex[middle].frame <= k)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct ht_complex *ht_complex_at(const struct ht_memo *memo, u32 frame)
{
	u32 n = count_to(memo, frame);
	return n && memo->complex[n - 1].frame == frame ? &memo->complex[n - 1] : 0;
}

enum { SAME, DIFFERS, UNKNOWN };

// Whether register i of c, and the place that keeps it, are unchanged. The place may be gone, or there was none. Then
// the walk with all registers decides, which need not go beyond frame k.
HT_INLINE int compare(const struct ht_memo *memo, struct ht_complex *c, u32 i, u32 k, int reached)
{
	struct ht_kept *kept = &c->needs.kept[i];
	if (kept->at && kept->sp >= memo->frames[k].sp)
		return *(const u64 *)kept->at == c->needs.values[i] ? SAME : DIFFERS;
	if (!reached)
		return UNKNOWN;
	if (ht_full_register(memo, i) != c->needs.values[i])
		return DIFFERS;
	*kept = ht_full_kept(memo, i);
	return !kept->at || on_own_stack(memo, kept->at) ? SAME : DIFFERS;
}

u32 ht_complex_differs(struct ht_memo *memo, u32 k, u32 floor, int reached)
{
	u64 sp = memo->frames[k].sp;
	u32 n = count_to(memo, k), i = n;
	for (; i > 0; i--) {
		struct ht_complex *c = &memo->complex[i - 1];
		if (c->frame < floor && c->least >= sp)
			break;
		for (u32 r = 0; r < HT_KEPT; r++) {
			int how = c->needs.registers & 1u << r ? compare(memo, c, r, k, reached) : SAME;
			if (how != SAME)
				return how == UNKNOWN ? HT_COMPLEX_UNKNOWN : c->frame + 1;
		}
	}
	if (i < n)
		find_least(memo, i);
	return 0;
}
