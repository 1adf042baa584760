// SPDX-License-Identifier: Apache-2.0
//
// cfi_find.c: finds the entries of .eh_frame that describe an address.

#include "unwind/cfi.h"

// Pointer encodings, LSB "DWARF Exception Header Encoding".
#define PE_OMIT 0xff
#define PE_INDIRECT 0x80
#define PE_PCREL 0x10
#define PE_TEXTREL 0x20
#define PE_DATAREL 0x30
#define PE_FUNCREL 0x40
#define PE_ALIGNED 0x50

u64 ht_read_uleb(struct ht_reader *r)
{
	u64 v = 0;
	for (u32 shift = 0; shift < 70; shift += 7) {
		u64 byte = ht_read_fixed(r, 1);
		if (shift < 64)
			v |= (byte & 127) << shift;
		if (!(byte & 128))
			return v;
	}
	r->bad = 1;
	return 0;
}

i64 ht_read_sleb(struct ht_reader *r)
{
	u64 v = 0;
	for (u32 shift = 0; shift < 70; shift += 7) {
		u64 byte = ht_read_fixed(r, 1);
		if (shift < 64)
			v |= (byte & 127) << shift;
		if (!(byte & 128)) {
			if (shift + 7 < 64 && (byte & 64))
				v |= ~0ull << (shift + 7);
			return (i64)v;
		}
	}
	r->bad = 1;
	return 0;
}

static struct ht_reader reader_at(const struct ht_cfi_text *text, u64 at)
{
	return (struct ht_reader){at, text->high, at < text->low || at >= text->high};
}

static u64 sign_extend(u64 v, u32 bytes)
{
	u32 unused = 64 - bytes * 8;
	return (u64)((i64)(v << unused) >> unused);
}

// Returns the bytes of a value of this encoding, 0 if it varies or is unknown.
static u32 encoded_size(u8 encoding)
{
	switch (encoding & 7) {
	case 0: // the machine's word size
	case 4:
		return 8;
	case 2:
		return 2;
	case 3:
		return 4;
	}
	return 0;
}

static const struct ht_cfi_bases none;

u64 ht_cfi_read_encoded(const struct ht_cfi_text *text, struct ht_reader *r, u8 encoding,
			const struct ht_cfi_bases *bases)
{
	u64 base = 0, v;
	u32 size = encoded_size(encoding);

	switch (encoding & 0x70) {
	case 0:
	case PE_TEXTREL:
		break;
	case PE_PCREL:
		base = r->p;
		break;
	case PE_DATAREL:
		base = bases->data;
		break;
	case PE_FUNCREL:
		base = bases->function;
		break;
	case PE_ALIGNED: // a pointer at the next multiple of its size
		ht_read_skip(r, -r->p & 7);
		return ht_read_fixed(r, 8);
	default:
		r->bad = 1;
		return 0;
	}
	if (size) {
		v = ht_read_fixed(r, size);
		if (encoding & 8)
			v = sign_extend(v, size);
	} else if ((encoding & 15) == 1) {
		v = ht_read_uleb(r);
	} else if ((encoding & 15) == 9) {
		v = (u64)ht_read_sleb(r);
	} else {
		r->bad = 1;
		return 0;
	}
	if (!v)
		return 0;
	v += base;
	if (encoding & PE_INDIRECT) {
		struct ht_reader there = reader_at(text, v);
		v = ht_read_fixed(&there, 8);
		r->bad |= there.bad;
	}
	return v;
}

// Reads the length of an entry, bounds the reader by it, and finds the width of its offsets. 0: the terminator.
static u32 read_length(struct ht_reader *r)
{
	u64 length = ht_read_fixed(r, 4);
	u32 width = 4;
	if (length == 0xffffffff) {
		length = ht_read_fixed(r, 8);
		width = 8;
	}
	if (r->bad || !length)
		return 0;
	if (r->end - r->p < length) {
		r->bad = 1;
		return 0;
	}
	r->end = r->p + length;
	return width;
}

static int read_cie(const struct ht_cfi_text *text, u64 at, struct ht_cfi_cie *c)
{
	struct ht_reader r = reader_at(text, at);
	u32 width = read_length(&r);
	u64 augmentation, data_end = 0;
	u8 version, ch;

	if (!width || ht_read_fixed(&r, width) != 0)
		return -1;
	version = (u8)ht_read_fixed(&r, 1);
	if (version != 1 && version != 3 && version != 4)
		return -1;
	augmentation = r.p;
	while (ht_read_fixed(&r, 1))
		;
	if (r.bad)
		return -1;
	const u8 *a = (const u8 *)augmentation;
	if (a[0] == 'e' && a[1] == 'h') { // of gcc 2: an unused pointer
		ht_read_skip(&r, 8);
		a += 2;
	}
	if (version == 4)
		ht_read_skip(&r, 2); // sizes of an address and of a segment selector
	c->code_align = ht_read_uleb(&r);
	c->data_align = ht_read_sleb(&r);
	c->return_register = version == 1 ? ht_read_fixed(&r, 1) : ht_read_uleb(&r);
	c->encoding = 0;
	c->signal = 0;
	c->sized = a[0] == 'z';
	if (c->sized) {
		u64 size = ht_read_uleb(&r);
		if (r.bad || r.end - r.p < size)
			return -1;
		data_end = r.p + size;
		a++;
	}
	for (; (ch = *a) != 0; a++) {
		if (ch == 'R') {
			c->encoding = (u8)ht_read_fixed(&r, 1);
		} else if (ch == 'L') {
			ht_read_skip(&r, 1);
		} else if (ch == 'P') {
			u8 encoding = (u8)ht_read_fixed(&r, 1);
			if (encoding != PE_OMIT)
				ht_cfi_read_encoded(text, &r, encoding & 0x7f, &none);
		} else if (ch == 'S') {
			c->signal = 1;
		} else if (c->sized) {
			break; // unknown, but its data's size is known
		} else {
			return -1;
		}
	}
	if (c->sized)
		r.p = data_end;
	c->instructions = r.p;
	c->instructions_end = r.end;
	return r.bad || c->return_register != HT_REG_PC ? -1 : 0;
}

// Reads the FDE (and its CIE) at `at`. Returns 1 if it is a CIE or the terminator. `end` is where the next entry
// begins.
static int read_fde(const struct ht_cfi_text *text, u64 at, struct ht_cfi_fde *f, struct ht_cfi_cie *c, u64 *end)
{
	struct ht_reader r = reader_at(text, at);
	u32 width = read_length(&r);
	u64 here, offset;

	*end = r.end;
	if (!width)
		return r.bad ? -1 : 1;
	here = r.p;
	offset = ht_read_fixed(&r, width);
	if (r.bad)
		return -1;
	if (!offset)
		return 1;
	if (offset > here - text->low || read_cie(text, here - offset, c) < 0)
		return -1;
	f->start = ht_cfi_read_encoded(text, &r, c->encoding, &none);
	f->size = ht_cfi_read_encoded(text, &r, c->encoding & 15, &none);
	if (c->sized)
		ht_read_skip(&r, ht_read_uleb(&r));
	f->instructions = r.p;
	f->instructions_end = r.end;
	return r.bad ? -1 : 0;
}

// Without a usable table: searches all of .eh_frame.
static HT_NOINLINE int search_all(const struct ht_cfi_text *text, u64 at, u64 pc, struct ht_cfi_fde *f,
				  struct ht_cfi_cie *c)
{
	u64 end;
	while (at < text->high) {
		int r = read_fde(text, at, f, c, &end);
		if (r < 0)
			return HT_CFI_BAD;
		if (r == 0 && f->start && pc - f->start < f->size) // functions at 0 were dropped by the linker
			return HT_CFI_OK;
		if (end - at <= 4)
			break; // the terminator
		at = end;
	}
	return HT_CFI_NONE;
}

int ht_cfi_cover(const struct ht_cfi_text *text, u64 *start, u64 *end)
{
	struct ht_cfi_fde f;
	struct ht_cfi_cie c;
	u64 next;
	*start = ~0ull, *end = 0;
	for (u64 at = text->frame; at < text->high; at = next) {
		int r = read_fde(text, at, &f, &c, &next);
		if (r < 0)
			return -1;
		if (r == 0 && f.start && f.start + f.size >= f.start) {
			*start = f.start < *start ? f.start : *start;
			*end = f.start + f.size > *end ? f.start + f.size : *end;
		}
		if (next - at <= 4)
			break;
	}
	return *end > *start ? 0 : -1;
}

HT_NOINLINE int ht_cfi_search(const struct ht_cfi_text *text, u64 pc, struct ht_cfi_work *w)
{
	struct ht_reader *r = &w->run.r;
	if (!text->hdr)
		return text->frame ? search_all(text, text->frame, pc, &w->fde, &w->cie) : HT_CFI_NONE;
	*r = reader_at(text, text->hdr);
	u32 head = (u32)ht_read_fixed(r, 4);
	u8 version = (u8)head, frame_encoding = (u8)(head >> 8), count_encoding = (u8)(head >> 16);
	u8 table_encoding = (u8)(head >> 24);
	u64 frame = 0, count = 0;
	struct ht_cfi_bases bases = {text->hdr, 0};
	u32 size = encoded_size(table_encoding) * 2;

	if (r->bad || version != 1)
		return HT_CFI_BAD;
	if (frame_encoding != PE_OMIT)
		frame = ht_cfi_read_encoded(text, r, frame_encoding, &bases);
	if (count_encoding != PE_OMIT)
		count = ht_cfi_read_encoded(text, r, count_encoding, &bases);
	if (r->bad)
		return HT_CFI_BAD;
	if (count_encoding == PE_OMIT || table_encoding == PE_OMIT || !size || table_encoding & PE_INDIRECT ||
	    (table_encoding & 0x70) == PE_ALIGNED)
		return frame ? search_all(text, frame, pc, &w->fde, &w->cie) : HT_CFI_BAD;
	if (count > (r->end - r->p) / size)
		return HT_CFI_BAD;

	u64 table = r->p, low = 0, high = count;
	while (low < high) { // the first entry that starts beyond pc
		u64 middle = low + (high - low) / 2;
		u64 start;
		if (ht_likely(table_encoding == (PE_DATAREL | 0xb))) { // of linkers: 32 bits with a sign
			i32 v;
			__builtin_memcpy(&v, (const void *)(table + middle * size), sizeof(v));
			start = v ? text->hdr + (u64)(i64)v : 0;
		} else {
			*r = reader_at(text, table + middle * size);
			start = ht_cfi_read_encoded(text, r, table_encoding, &bases);
			if (r->bad)
				return HT_CFI_BAD;
		}
		if (start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return HT_CFI_NONE;
	*r = reader_at(text, table + (low - 1) * size);
	ht_cfi_read_encoded(text, r, table_encoding, &bases);
	u64 at = ht_cfi_read_encoded(text, r, table_encoding, &bases);
	if (r->bad || read_fde(text, at, &w->fde, &w->cie, &high) != 0)
		return HT_CFI_BAD;
	return pc - w->fde.start < w->fde.size ? HT_CFI_OK : HT_CFI_NONE;
}
