// SPDX-License-Identifier: Apache-2.0
//
// section.h: makes .eh_frame and .eh_frame_hdr sections by hand. A section ends exactly where its allocation ends, so
// that a sanitizer sees every read beyond it.
#ifndef HT_SECTION_H
#define HT_SECTION_H

#include <stdlib.h>
#include <string.h>

#include "../src/unwind/cfi.h"

struct section {
	u8 bytes[4096];
	u32 size;
};

static void put(struct section *s, u64 v, u32 size)
{
	memcpy(s->bytes + s->size, &v, size);
	s->size += size;
}

static void put_bytes(struct section *s, const void *p, u32 size)
{
	memcpy(s->bytes + s->size, p, size);
	s->size += size;
}

#define CODE 0x100000ull // the pretended address of the functions, relative to the section

struct shape {
	u8 encoding; // of the FDEs' addresses
	u8 version;
	const char *augmentation;
	int wide; // 64-bit DWARF
	u8 table; // encoding of the table; 0xff: none
	u8 frame; // of the pointer to .eh_frame; 0: 0x1b
	u8 count; // of the number of entries; 0: 0x03
	int near; // the functions lie within 16 bits
};
static const struct shape usual = {.encoding = 0x1b, .version = 1, .augmentation = "zR", .table = 0x3b};

#define INITIAL "\x0c\x07\x08\x90\x01" // def_cfa rsp+8; rip at cfa-8

struct built {
	u8 *memory;
	struct ht_cfi_text text;
	u64 code;
};

static u32 begin_entry(struct section *s, int wide)
{
	if (wide)
		put(s, 0xffffffff, 4);
	put(s, 0, wide ? 8 : 4);
	return s->size;
}

static void end_entry(struct section *s, u32 begin, int wide)
{
	while (s->size & 7)
		put(s, 0, 1);
	u64 length = s->size - begin;
	memcpy(s->bytes + begin - (wide ? 8 : 4), &length, wide ? 8 : 4);
}

// Appends a value in one of the pointer encodings (LSB, "DWARF Exception Header Encoding"). `base` is where the section
// will lie, `data` what is relative to data is relative to, `cell` a place in the section for what is encoded
// indirectly.
static void put_encoded(struct section *s, u8 e, u64 base, u64 data, u32 cell, u64 v)
{
	if ((e & 0x70) == 0x50) { // aligned
		while ((base + s->size) & 7)
			put(s, 0, 1);
		put(s, v, 8);
		return;
	}
	if (e & 0x80) {
		memcpy(s->bytes + cell, &v, 8);
		v = base + cell;
	}
	v -= (e & 0x70) == 0x10 ? base + s->size : (e & 0x70) == 0x30 ? data : 0;
	switch (e & 15) {
	case 1:
		for (; v > 127; v >>= 7)
			put(s, (v & 127) | 128, 1);
		put(s, v, 1);
		break;
	case 9:
		for (; (i64)v > 63 || (i64)v < -64; v = (u64)((i64)v >> 7))
			put(s, (v & 127) | 128, 1);
		put(s, v & 127, 1);
		break;
	case 2:
	case 10:
		put(s, v, 2);
		break;
	case 3:
	case 11:
		put(s, v, 4);
		break;
	default:
		put(s, v, 8);
	}
}

// Two functions of 0x100 bytes with a gap of as many between them; `program` belongs to the second.
__attribute__((unused)) static struct built build(const struct shape *h, const char *program, u32 size)
{
	struct built b;
	struct section s = {{0}, 0};
	u32 header = 4 + 8 + 8 + 2 * 16, cells = header + 4, begin, cie, fde[2];
	u64 code = h->near ? 0x1800 : CODE;

	b.memory = malloc(4096);
	u64 base = (u64)b.memory; // moved to the end of the allocation below
	memset(b.memory, 0, 4096);
	for (int pass = 0; pass < 2; pass++) {
		memset(&s, 0, sizeof(s));
		s.size = cells + 3 * 8;
		cie = s.size;
		begin = begin_entry(&s, h->wide);
		put(&s, 0, h->wide ? 8 : 4);
		put(&s, h->version, 1);
		put_bytes(&s, h->augmentation, (u32)strlen(h->augmentation) + 1);
		if (h->version == 4)
			put(&s, 8, 2);
		put(&s, 1, 1); // code alignment
		put(&s, 0x78, 1); // data alignment -8
		put(&s, 16, 1);
		if (h->augmentation[0] == 'z') {
			u32 n = 0;
			for (const char *a = h->augmentation + 1; *a; a++)
				n += *a == 'R' || *a == 'L' ? 1 : *a == 'P' ? 5 : 0;
			put(&s, n, 1);
			for (const char *a = h->augmentation + 1; *a; a++) {
				if (*a == 'R')
					put(&s, h->encoding, 1);
				else if (*a == 'L')
					put(&s, 0x1b, 1);
				else if (*a == 'P')
					put(&s, 0x9b, 1), put(&s, 0x1234, 4);
			}
		}
		put_bytes(&s, INITIAL, 5);
		end_entry(&s, begin, h->wide);
		for (u32 i = 0; i < 2; i++) {
			fde[i] = s.size;
			begin = begin_entry(&s, h->wide);
			put(&s, s.size - cie, h->wide ? 8 : 4);
			put_encoded(&s, h->encoding, base, 0, cells + i * 8, base + code + i * 0x200);
			put_encoded(&s, h->encoding & 15, base, 0, 0, 0x100);
			if (h->augmentation[0] == 'z')
				put(&s, 0, 1);
			if (i == 1)
				put_bytes(&s, program, size);
			end_entry(&s, begin, h->wide);
		}
		put(&s, 0, 4);
		base = (u64)b.memory + 4096 - s.size;
	}
	memcpy((void *)base, s.bytes, s.size);
	struct section t = {{0}, 0}; // the header
	u8 frame = h->frame ? h->frame : 0x1b, count = h->count ? h->count : 0x03;
	memcpy(t.bytes + cells, s.bytes + cells, 3 * 8);
	put(&t, 1, 1);
	put(&t, frame, 1);
	put(&t, h->table == 0xff ? 0xff : count, 1);
	put(&t, h->table, 1);
	put_encoded(&t, frame, base, base, cells + 16, base + cie);
	if (h->table != 0xff) {
		put_encoded(&t, count, base, base, 0, 2);
		for (u32 i = 0; i < 2; i++) {
			put_encoded(&t, h->table, base, base, 0, base + code + i * 0x200);
			put_encoded(&t, h->table, base, base, 0, base + fde[i]);
		}
	}
	memcpy((void *)(base + cells), t.bytes + cells, 3 * 8);
	memcpy((void *)base, t.bytes, t.size);
	b.text = (struct ht_cfi_text){base, base + s.size, base, 0};
	b.code = base + code;
	return b;
}

#endif
