// SPDX-License-Identifier: Apache-2.0
//
// dealloc_hint.c: writes what the caller of a deallocation says into the record.

#include "record/dealloc_hint.h"
#include "record/record.h"

__thread struct ht_dealloc_hint ht_dealloc_hint __attribute__((tls_model("initial-exec")));

int ht_hint(const void *p, u64 size, u64 align)
{
	ht_dealloc_hint = (struct ht_dealloc_hint){.block = p, .size = size, .align = align, .has_size = 1};
	return 1;
}

int ht_hint_alignment(const void *p, u64 align)
{
	ht_dealloc_hint = (struct ht_dealloc_hint){.block = p, .align = align};
	return 1;
}

void ht_put_hint(struct ht_thread *t)
{
	u64 *w = (u64 *)t->at;
	if (ht_dealloc_hint.has_size)
		w = ht_put_extra(w, HT_X_SIZE, ht_dealloc_hint.size);
	if (ht_dealloc_hint.align)
		w = ht_put_extra(w, HT_X_ALIGN, ht_dealloc_hint.align);
	ht_dealloc_hint.block = 0;
	t->at = (u64)w; // published with its record; see left_half_way
}
