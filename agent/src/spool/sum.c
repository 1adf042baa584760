// SPDX-License-Identifier: Apache-2.0
//
// sum.c: implements sum.h. Eight interleaved sums of words, and sums of these sums, so that the order matters: as fast
// as memory is read.

#include "spool/sum.h"
#include "spool/arrays.h"

typedef u64 pair __attribute__((vector_size(16), aligned(8), may_alias));

u64 ht_sum(const void *p, u64 size, u64 seed)
{
	union {
		pair v[4];
		u64 w[8];
	} a = {{{0}}}, b = {{{0}}};
	pair a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
	const u64 *w = p, *end = w + (size / 64) * 8;
	u64 h = ht_sum_mix(seed, size);
	for (; w != end; w += 8) {
		const pair *v = (const pair *)w;
		b0 += a0 += v[0];
		b1 += a1 += v[1];
		b2 += a2 += v[2];
		b3 += a3 += v[3];
	}
	a.v[0] = a0, a.v[1] = a1, a.v[2] = a2, a.v[3] = a3;
	b.v[0] = b0, b.v[1] = b1, b.v[2] = b2, b.v[3] = b3;
	for (u64 i = 0; i < size % 64 / 8; i++)
		b.w[i] += a.w[i] += w[i];
	for (u32 i = 0; i < 8; i++)
		h = ht_sum_mix(ht_sum_mix(h, a.w[i]), b.w[i]);
	return h;
}

u64 ht_sum_chunk(const struct ht_chunk *c, u32 fill)
{
	u64 h = ht_sum_mix(ht_sum_mix(c->uid, c->seq), c->start);
	h = ht_sum_mix(ht_sum_mix(h, (u64)c->tid << 32 | c->proc), (u64)c->level << 32 | c->stream);
	return (ht_sum(c + 1, fill - HT_CHUNK_HEADER, h) & ~(u64)HT_SEAL_FILL) | fill;
}

u64 ht_sum_stream(const struct ht_stream *s)
{
	u64 h = ht_sum_mix(ht_sum_mix(s->uid, s->start), (u64)s->tid << 32 | s->proc);
	return ht_sum(s->name, sizeof(s->name), ht_sum_mix(h, (u64)s->level << 32 | s->first_chunk)) | 1;
}

u64 ht_sum_proc(const struct ht_proc *p)
{
	return ht_sum_mix(ht_sum_mix((u64)p->pid << 32 | p->parent, p->fork_time), p->random) | 1;
}

u32 ht_sum_pc(u32 id, u64 pc, u32 module)
{
	return (u32)ht_sum_mix(pc, (u64)id << 32 | module) | 1;
}

u64 ht_sum_module(const struct ht_module *m, u64 size)
{
	u64 h = ht_sum_mix((u64)m->kind << 32 | m->id, (u64)m->proc << 32 | m->build_id_size);
	h = ht_sum_mix(ht_sum_mix(ht_sum_mix(h, m->time), m->start), m->end);
	return ht_sum(m + 1, size - sizeof(*m), ht_sum_mix(ht_sum_mix(h, m->bias), m->path_size)) | 1;
}

u32 ht_sum_name(const struct ht_name *n, u64 size)
{
	return (u32)ht_sum(n + 1, size - sizeof(*n), (u64)n->id << 32 | n->size) | 1;
}

u64 ht_sum_header(const struct ht_header *h)
{
	u64 sum = ht_sum_mix((u64)h->version << 32 | h->arch, (u64)h->pid << 32 | h->page_size);
	sum = ht_sum_mix(ht_sum_mix(ht_sum_mix(sum, h->tsc0), h->mono0), h->real0);
	sum = ht_sum_mix(ht_sum_mix(ht_sum_mix(sum, h->sample), h->stack_min), h->file_end);
	return ht_sum(h->places, sizeof(h->places), ht_sum(h->segment_first, sizeof(h->segment_first), sum)) | 1;
}
