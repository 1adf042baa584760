// SPDX-License-Identifier: Apache-2.0
//
// modules.c: the table of loaded modules and the module log.
//
// Modules loaded at the start are entered by dl_iterate_phdr, which takes the loader's lock; nothing later may take it.
// Later modules are entered when one of their addresses is first on a stack: glibc >= 2.35 finds the module without a
// lock (_dl_find_object); otherwise /proc/self/maps and the ELF header in memory serve.
//
// Unloading. glibc's dlclose unmaps the module, updates _dl_find_object, and then frees what described it, all under
// the lock that every dlopen needs (elf/dl-close.c, _dl_close_worker: DL_UNMAP, _dl_find_object_dlclose, free
// (imap->l_name)). So an event whose caller is the loader, ht_modules_check, sees every unloading before another module
// can take the place. On musl, dlclose unloads nothing.
//
// Slots are claimed by compare-and-swap and are LIVE once complete. Two threads that find a module at the same time may
// both enter it. Then the lower slot is used, and the other id only by what was recorded in between.

#include <elf.h>

#include "unwind/modules.h"
#include "base/environ.h"
#include "base/filter.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "spool/arrays.h"
#include "spool/sum.h"
#include "unwind/cct.h"
#include "unwind/rules.h"

#define SLOTS 65536
#define FEW 128 // more than most programs need; the others are mapped with the first of them
#define BUILD_ID_MAX 64

enum { FREE = 0, CLAIMED = 1, LIVE = 2 };

// As in glibc's link.h and dlfcn.h; those of older versions and of musl do not have all of it.
struct link_map_head {
	u64 l_addr;
	char *l_name;
};
struct phdr_info {
	u64 dlpi_addr;
	const char *dlpi_name;
	const Elf64_Phdr *dlpi_phdr;
	u16 dlpi_phnum;
};
int dl_iterate_phdr(int (*)(struct phdr_info *, size_t, void *), void *);
struct find_object_result {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map_head *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
const char *gnu_get_libc_version(void) __attribute__((weak));
void *__tls_get_addr(void *) __attribute__((weak));

u64 ht_loader_low, ht_loader_size;
static struct ht_loaded few[FEW] HT_LARGE;
static struct ht_loaded *more; // from FEW on
static u32 slots; // slots that were ever used
static u32 transient; // number of live modules that may be unloaded

// ---------------------------------------------------------------------------------------------------------------------
// A module's own description, in memory

struct description {
	u64 start, end, bias, mark;
	struct ht_cfi_text cfi;
	u8 build_id[BUILD_ID_MAX];
	u32 build_id_size;
};

// Lies after the buffer for paths, not on the target's stack.
static struct description *description_in(char *buffer)
{
	return (struct description *)(buffer + HT_MODULE_BUFFER);
}
typedef char description_fits[sizeof(struct description) <= HT_MODULE_WORK - HT_MODULE_BUFFER ? 1 : -1];

static u64 hash_bytes(u64 h, const void *data, u64 size)
{
	for (const u8 *p = data; size; p++, size--)
		h = (h ^ *p) * 0x100000001b3ull;
	return h;
}

// The contiguous readable segments around `address`: memory that may be read without asking the kernel.
static struct ht_cfi_text readable_around(const Elf64_Phdr *ph, u32 count, u64 bias, u64 address)
{
	struct ht_cfi_text t = {0, 0, 0, 0};
	for (u32 pass = 0; pass < count; pass++) {
		int grown = 0;
		for (u32 i = 0; i < count; i++) {
			u64 low = bias + ph[i].p_vaddr, high = low + ph[i].p_memsz;
			if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_R) || high <= low)
				continue;
			if (!t.high && address - low < high - low) {
				t.low = low;
				t.high = high;
				grown = 1;
			} else if (t.high && low < t.low && (high + 4095) >> 12 >= t.low >> 12) {
				t.low = low;
				grown = 1;
			} else if (t.high && high > t.high && low >> 12 <= (t.high + 4095) >> 12) {
				t.high = high;
				grown = 1;
			}
		}
		if (!grown)
			break;
	}
	return t;
}

static void read_build_id(struct description *d, u64 at, u64 size)
{
	struct ht_reader r = {at, at + size, 0};
	while (!r.bad && r.end - r.p >= 12) {
		u64 name_size = ht_read_fixed(&r, 4), data_size = ht_read_fixed(&r, 4), type = ht_read_fixed(&r, 4);
		u64 name = r.p;
		ht_read_skip(&r, (name_size + 3) & ~3ull);
		u64 data = r.p;
		ht_read_skip(&r, (data_size + 3) & ~3ull);
		if (r.bad)
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && __builtin_memcmp((void *)name, "GNU", 4) == 0 &&
		    data_size <= BUILD_ID_MAX) {
			d->build_id_size = (u32)data_size;
			__builtin_memcpy(d->build_id, (const void *)data, data_size);
			return;
		}
	}
}

static int describe(struct description *d, const Elf64_Phdr *ph, u32 count, u64 bias)
{
	__builtin_memset(d, 0, sizeof(*d));
	d->bias = bias;
	d->start = ~0ull;
	for (u32 i = 0; i < count; i++) {
		u64 low = bias + ph[i].p_vaddr, high = low + ph[i].p_memsz;
		if (ph[i].p_type != PT_LOAD || high < low)
			continue;
		if (low < d->start)
			d->start = low & ~4095ull;
		if (high > d->end)
			d->end = (high + 4095) & ~4095ull;
	}
	if (d->end <= d->start)
		return -1;
	for (u32 i = 0; i < count; i++) {
		u64 at = bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_GNU_EH_FRAME && !d->cfi.hdr) {
			d->cfi = readable_around(ph, count, bias, at);
			d->cfi.hdr = d->cfi.high ? at : 0;
		} else if (ph[i].p_type == PT_NOTE && !d->build_id_size) {
			struct ht_cfi_text t = readable_around(ph, count, bias, at);
			if (t.high && ph[i].p_memsz <= t.high - at)
				read_build_id(d, at, ph[i].p_memsz);
		}
	}
	d->mark =
		hash_bytes(hash_bytes(14695981039346656037ull, ph, count * sizeof(*ph)), d->build_id, d->build_id_size);
	return 0;
}

// From the ELF header at the start of a mapping; nothing in it is trusted.
static int describe_image(struct description *d, u64 start)
{
	const Elf64_Ehdr *e = (const void *)start;
	const Elf64_Phdr *ph;
	u64 bias = start;

	if (start & 4095 || !ht_readable(start) || __builtin_memcmp(e->e_ident, ELFMAG, SELFMAG) != 0)
		return -1;
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof(*ph) || e->e_phnum > 64 ||
	    e->e_phoff < sizeof(*e) || e->e_phoff + e->e_phnum * sizeof(*ph) > 4096)
		return -1; // program headers beyond the first page: no linker does that
	ph = (const void *)(start + e->e_phoff);
	for (u32 i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD) {
			bias = start - (ph[i].p_vaddr & ~4095ull);
			break;
		}
	return describe(d, ph, e->e_phnum, bias);
}

// ---------------------------------------------------------------------------------------------------------------------
// The module log

u64 ht_module_met;

static struct ht_module *log_space(u64 size, u32 kind, u32 id)
{
	u64 at = __atomic_fetch_add(&ht_header->module_bytes, size, __ATOMIC_RELAXED);
	if (!ht_array_has(HT_SEG_MODULES, at + size - 1)) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	struct ht_module *m = (struct ht_module *)(ht_module_log + at);
	m->kind = kind;
	m->id = id;
	m->proc = ht_process;
	m->time = ht_clock();
	return m;
}

static void log_load(const struct ht_loaded *l, const struct description *d, const char *path)
{
	u64 path_size = ht_strlen(path) + 1;
	u64 size = (sizeof(struct ht_module) + d->build_id_size + path_size + 7) & ~7ull;
	struct ht_module *m = log_space(size, HT_MODULE_LOAD, l->id);

	if (!m)
		return;
	m->start = l->start;
	m->end = l->end;
	m->bias = l->bias;
	m->build_id_size = d->build_id_size;
	m->path_size = (u32)path_size;
	__builtin_memcpy(m + 1, d->build_id, d->build_id_size);
	__builtin_memcpy((u8 *)(m + 1) + d->build_id_size, path, path_size);
	for (u64 met = ht_load(&ht_module_met); met < m->time;)
		if (__atomic_compare_exchange_n(&ht_module_met, &met, m->time, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			break;
	m->sum = ht_sum_module(m, size);
	ht_store_release(&m->length, (u32)size);
}

static void log_unload(u32 id)
{
	struct ht_module *m = log_space(sizeof(*m), HT_MODULE_UNLOAD, id);
	if (!m)
		return;
	m->sum = ht_sum_module(m, sizeof(*m));
	ht_store_release(&m->length, (u32)sizeof(*m));
}

void ht_module_apart(u32 why, const char *path)
{
	u64 path_size = ht_strlen(path) + 1, size = (sizeof(struct ht_module) + path_size + 7) & ~7ull;
	struct ht_module *m = path_size <= 4096 && ht_clock_is_allowed() ? log_space(size, HT_MODULE_APART, why) : 0;
	if (!m)
		return;
	m->path_size = (u32)path_size;
	__builtin_memcpy(m + 1, path, path_size);
	ht_store_release(&m->length, (u32)size);
}

// ---------------------------------------------------------------------------------------------------------------------
// The table

// Returns a slot; null if there is no memory.
static struct ht_loaded *slot(u32 i)
{
	const u64 size = (SLOTS - FEW) * sizeof(*more);
	struct ht_loaded *m = ht_load_acquire(&more), *none = 0;
	if (i < FEW)
		return &few[i];
	if (ht_unlikely(!m)) {
		m = ht_map(size);
		if (m && !__atomic_compare_exchange_n(&more, &none, m, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			ht_unmap(m, size);
			m = none;
		}
	}
	return m ? &m[i - FEW] : 0;
}

// Returns the module that contains pc. If a link_map is given, the module must have it, unless it was loaded at the
// start.
static struct ht_loaded *find(u64 pc, const void *link)
{
	u32 n = ht_load_acquire(&slots);
	for (u32 i = 0; i < n; i++) {
		struct ht_loaded *l = slot(i);
		if (ht_load_acquire(&l->state) == LIVE && pc - l->start < l->end - l->start &&
		    (!link || l->permanent || l->link == link))
			return l;
	}
	return 0;
}

static struct ht_loaded *claim(void)
{
	for (u32 i = 0; i < SLOTS; i++) {
		struct ht_loaded *l = slot(i);
		u32 from = FREE, n = ht_load(&slots);
		if (!l)
			return 0;
		if (!__atomic_compare_exchange_n(&l->state, &from, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		while (n <= i && !__atomic_compare_exchange_n(&slots, &n, i + 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
		return l;
	}
	return 0;
}

static struct ht_loaded *enter(const struct description *d, const void *link, const char *path, int permanent)
{
	struct ht_loaded *l = claim();
	if (!l) {
		ht_count(HT_C_TABLE_FULL);
		return 0;
	}
	l->start = d->start;
	l->end = d->end;
	l->bias = d->bias;
	l->link = link;
	l->mark = d->mark;
	l->permanent = (u32)permanent;
	l->cfi = d->cfi;
	struct ht_loaded *other = find(d->start, link);
	if (other) { // another thread was faster
		ht_store_release(&l->state, FREE);
		return other;
	}
	do
		l->id = __atomic_fetch_add(&ht_header->next_module, 1, __ATOMIC_RELAXED);
	while (l->id == 0);
	log_load(l, d, path);
	if (!permanent) {
		// Its code may have been seen before the loader knew it (resolvers of indirect functions).
		ht_rules_drop(d->start, d->end, 1);
		__atomic_fetch_add(&transient, 1, __ATOMIC_SEQ_CST);
		ht_fast_hooks_watch_loader();
	}
	ht_store_release(&l->state, LIVE);
	return l;
}

// Returns the path of the mapping at `start` according to the kernel; for the main program, the file that was executed.
static const char *kernel_path(u64 start, int is_main, char *buffer)
{
	struct ht_mapping m;
	static const char exe[] = "/proc/self/exe";
	if (is_main) {
		long n = ht_sys4(__NR_readlinkat, -100 /* AT_FDCWD */, exe, buffer, HT_MODULE_BUFFER - 1);
		if (n > 0) {
			buffer[n] = 0;
			return buffer;
		}
	}
	return ht_maps_find(start, buffer, HT_MODULE_BUFFER, &m) == 0 ? m.path : "";
}

// What the loader found for pc. If a module has gaps between its segments, it is the range of one segment only.
static HT_NOINLINE const struct ht_loaded *enter_found(u64 pc, const struct find_object_result *o, char *buffer)
{
	struct description *d = description_in(buffer);
	const struct link_map_head *link = o->link_map;
	const char *path;

	if ((describe_image(d, (u64)o->map_start) < 0 && describe_image(d, link->l_addr) < 0) ||
	    pc - d->start >= d->end - d->start) {
		__builtin_memset(d, 0, sizeof(*d));
		d->bias = link->l_addr;
		d->start = (u64)o->map_start;
		d->end = (u64)o->map_end;
	}
	if ((u64)o->eh_frame != d->cfi.hdr) // the loader's information has priority
		d->cfi = (struct ht_cfi_text){(u64)o->map_start, (u64)o->map_end, (u64)o->eh_frame, 0};
	path = link->l_name;
	if (!path || path[0] != '/') // empty for the main program, relative after dlopen("./x.so")
		path = kernel_path(d->start, !path || !path[0], buffer);
	return enter(d, link, path, 0);
}

static HT_NOINLINE const struct ht_loaded *enter_mapped(u64 pc, char *buffer)
{
	struct ht_mapping m;
	struct description *d = description_in(buffer);

	if (ht_maps_find(pc, buffer, HT_MODULE_BUFFER, &m) < 0 || !m.file)
		return 0;
	if (describe_image(d, m.file) < 0 || d->start != m.file || pc - d->start >= d->end - d->start)
		return 0;
	return enter(d, 0, m.path, 0);
}

const struct ht_loaded *ht_module_of(u64 pc, char *buffer)
{
	struct find_object_result o;
	struct ht_loaded *l;

	if (ht_find_object) {
		if (ht_find_object((void *)pc, &o) == 0) {
			l = find(pc, o.link_map);
			return l ? l : enter_found(pc, &o, buffer);
		}
		l = find(pc, 0); // the vdso, to some versions
		return l && l->permanent ? l : 0;
	}
	l = find(pc, 0);
	return l ? l : enter_mapped(pc, buffer);
}

// ---------------------------------------------------------------------------------------------------------------------
// Start, unloading, fork

struct start {
	u64 vdso, loader_pc, main_seen;
	char *buffer;
};

static int at_start(struct phdr_info *info, size_t size, void *data)
{
	struct start *s = data;
	struct description d;
	const char *path = info->dlpi_name;
	(void)size;

	if (describe(&d, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr) < 0)
		return 0;
	if (s->vdso && s->vdso - d.start < d.end - d.start)
		path = "[vdso]";
	else if (!path || path[0] != '/')
		path = kernel_path(d.start, !s->main_seen && (!path || !path[0]), s->buffer);
	s->main_seen = 1; // the main program comes first
	enter(&d, 0, path, 1);
	if (s->loader_pc && s->loader_pc - d.start < d.end - d.start) {
		ht_loader_low = d.start;
		ht_loader_size = d.end - d.start;
	}
	return 0;
}

int ht_modules_init(void)
{
	char *mapped = 0;
	struct start s = {ht_auxv(33 /* AT_SYSINFO_EHDR */), 0, 0, ht_environ_room(HT_MODULE_WORK)};
	if (!s.buffer)
		s.buffer = mapped = ht_map(HT_MODULE_WORK);
	if (!s.buffer)
		return -1;
	// A function of the loader. Outside of glibc, the loader is libc and unloads nothing.
	if (gnu_get_libc_version && __tls_get_addr)
		s.loader_pc = (u64)__tls_get_addr;
	dl_iterate_phdr(at_start, &s);
	if (mapped)
		ht_unmap(mapped, HT_MODULE_WORK);
	return 0;
}

static int is_still_there(const struct ht_loaded *l)
{
	struct find_object_result o;
	struct description d;
	if (ht_find_object)
		return ht_find_object((void *)l->start, &o) == 0 && o.link_map == l->link;
	return describe_image(&d, l->start) == 0 && d.mark == l->mark;
}

int ht_modules_may_unload(void)
{
	return ht_load(&transient) != 0;
}

void ht_modules_check(void)
{
	u32 n = ht_load_acquire(&slots);
	if (ht_likely(!ht_load(&transient)))
		return;
	for (u32 i = 0; i < n; i++) {
		struct ht_loaded *l = slot(i);
		u32 from = LIVE;
		if (ht_load_acquire(&l->state) != LIVE || l->permanent || is_still_there(l))
			continue;
		if (!__atomic_compare_exchange_n(&l->state, &from, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_sub(&transient, 1, __ATOMIC_RELAXED);
		log_unload(l->id);
		ht_rules_drop(l->start, l->end, 0);
		ht_generation_raise();
		ht_store_release(&l->state, FREE);
	}
}

void ht_tables_after_fork(void)
{
	// A slot that another thread of the parent was filling stays claimed for ever, which costs nothing. What
	// another thread had not published yet is missing.
	ht_rules_after_fork();
	ht_cct_after_fork();
}
