// SPDX-License-Identifier: Apache-2.0
//
// told.c: what a deallocation is told, on the way into the record.

#include "told.h"
#include "record.h"

__thread struct ht_told ht_told __attribute__((tls_model("initial-exec")));

int ht_tell(const void *p, u64 size, u64 align)
{
	ht_told = (struct ht_told){.block = p, .size = size, .align = align, .has_size = 1};
	return 1;
}

int ht_tell_alignment(const void *p, u64 align)
{
	ht_told = (struct ht_told){.block = p, .align = align};
	return 1;
}

void ht_put_told(struct ht_thread *t)
{
	u64 *w = (u64 *)t->at;
	if (ht_told.has_size)
		w = ht_put_extra(w, HT_X_SIZE, ht_told.size);
	if (ht_told.align)
		w = ht_put_extra(w, HT_X_ALIGN, ht_told.align);
	ht_told.block = 0;
	t->at = (u64)w; // published with the record that it belongs to; see left_half_way
}
