// SPDX-License-Identifier: Apache-2.0
//
// real.c: finds the functions that the program would call without the agent.
//
// dlsym cannot be used: it may call calloc, and it does not search a library that a C program has loaded with
// RTLD_LOCAL and whose operator new resolves to ours. So this file searches the symbol tables of the loaded modules
// itself: at the start in load order, after the agent (as RTLD_NEXT does); for a C++ operator that is first called
// later, in the files in /proc/self/maps, because another thread may hold the loader's lock then.

#include <link.h>

#include "base/base.h"
#include "base/environ.h"
#include "base/memory.h"
#include "base/state.h"
#include "base/sys.h"
#include "unwind/modules.h"
#include "record/real.h"
#include "hooks/apart.h"

int ht_glibc;
int (*ht_find_object)(void *, void *);
u64 ht_allocator_low, ht_allocator_size;
u64 ht_agent_low, ht_agent_size;
const char *ht_agent_path;

// ---------------------------------------------------------------------------------------------------------------------
// One module's dynamic symbols

struct module {
	u64 bias, low, high;
	const ElfW(Sym) * symbols;
	const char *strings;
	const u16 *versions;
	const u32 *gnu_hash;
	const u32 *sysv_hash;
};

static int read_module(struct module *m, u64 bias, const ElfW(Phdr) * phdrs, u32 count)
{
	const ElfW(Dyn) *dyn = 0;
	*m = (struct module){.bias = bias, .low = ~0ull};
	for (u32 i = 0; i < count; i++) {
		if (phdrs[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(bias + phdrs[i].p_vaddr);
		if (phdrs[i].p_type != PT_LOAD)
			continue;
		u64 low = bias + phdrs[i].p_vaddr, high = low + phdrs[i].p_memsz;
		m->low = low < m->low ? low : m->low;
		m->high = high > m->high ? high : m->high;
	}
	if (!dyn || (u64)dyn < m->low || (u64)dyn >= m->high)
		return -1;
	for (; dyn->d_tag != DT_NULL; dyn++) {
		// glibc's loader has relocated these in place; other loaders have not, nor has the vdso.
		const void *p = (const void *)(dyn->d_un.d_ptr < m->low ? dyn->d_un.d_ptr + bias : dyn->d_un.d_ptr);
		if (dyn->d_tag == DT_SYMTAB)
			m->symbols = p;
		else if (dyn->d_tag == DT_STRTAB)
			m->strings = p;
		else if (dyn->d_tag == DT_VERSYM)
			m->versions = p;
		else if (dyn->d_tag == DT_GNU_HASH)
			m->gnu_hash = p;
		else if (dyn->d_tag == DT_HASH)
			m->sysv_hash = p;
	}
	return m->symbols && m->strings && (m->gnu_hash || m->sysv_hash) ? 0 : -1;
}

static const ElfW(Sym) * matches(const struct module *m, u32 index, const char *name)
{
	const ElfW(Sym) *s = &m->symbols[index];
	u32 type = ELF64_ST_TYPE(s->st_info);
	if (s->st_shndx == SHN_UNDEF || s->st_value == 0 || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return 0;
	if (m->versions && m->versions[index] & 0x8000) // an old version, kept for old programs
		return 0;
	return ht_streq(m->strings + s->st_name, name) ? s : 0;
}

static const ElfW(Sym) * find_symbol(const struct module *m, const char *name)
{
	const ElfW(Sym) * s;
	if (m->gnu_hash) {
		const u32 *h = m->gnu_hash;
		u32 hash = 5381, buckets = h[0], first = h[1], bloom = h[2];
		const u32 *bucket = h + 4 + bloom * 2, *chain = bucket + buckets;
		for (const u8 *c = (const u8 *)name; *c; c++)
			hash = hash * 33 + *c;
		if (!buckets)
			return 0;
		u32 i = bucket[hash % buckets];
		if (i < first)
			return 0;
		for (;; i++) {
			if ((chain[i - first] | 1) == (hash | 1) && (s = matches(m, i, name)))
				return s;
			if (chain[i - first] & 1)
				return 0;
		}
	}
	for (u32 i = 1; i < m->sysv_hash[1]; i++) // nchain is the number of symbols
		if ((s = matches(m, i, name)))
			return s;
	return 0;
}

static void *address_of(const struct module *m, const ElfW(Sym) * s)
{
	void *p = (void *)(m->bias + s->st_value);
	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		p = ((void *(*)(void))p)();
	return p;
}

// ---------------------------------------------------------------------------------------------------------------------
// The C functions, at the start

static void *boot_malloc(size_t size);
static void boot_free(void *p);
static void *boot_calloc(size_t count, size_t size);
static void *boot_realloc(void *p, size_t size);

struct ht_real ht_real = {.malloc = boot_malloc, .free = boot_free, .calloc = boot_calloc, .realloc = boot_realloc};

static struct cxx_operator {
	const char *symbol;
	u64 start, size;
	void *function; // stored last
	u32 misses; // number of failed searches
} operators[HT_OPERATORS] = {
	{.symbol = "_Znwm"},
	{.symbol = "_Znam"},
	{.symbol = "_ZnwmRKSt9nothrow_t"},
	{.symbol = "_ZnamRKSt9nothrow_t"},
	{.symbol = "_ZnwmSt11align_val_t"},
	{.symbol = "_ZnamSt11align_val_t"},
	{.symbol = "_ZnwmSt11align_val_tRKSt9nothrow_t"},
	{.symbol = "_ZnamSt11align_val_tRKSt9nothrow_t"},
	{.symbol = "_ZdlPv"},
	{.symbol = "_ZdaPv"},
	{.symbol = "_ZdlPvm"},
	{.symbol = "_ZdaPvm"},
	{.symbol = "_ZdlPvRKSt9nothrow_t"},
	{.symbol = "_ZdaPvRKSt9nothrow_t"},
	{.symbol = "_ZdlPvSt11align_val_t"},
	{.symbol = "_ZdaPvSt11align_val_t"},
	{.symbol = "_ZdlPvmSt11align_val_t"},
	{.symbol = "_ZdaPvmSt11align_val_t"},
	{.symbol = "_ZdlPvSt11align_val_tRKSt9nothrow_t"},
	{.symbol = "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
	{.symbol = "_ZSt15get_new_handlerv"},
	{.symbol = "__register_frame"},
	{.symbol = "__deregister_frame"},
};

static void *(*wrap)(u32 number, void *function);

// The program's own operators, which it calls without our hooks. But the library's operators that it did not replace
// call them: operator new[] calls its operator new.
static struct {
	u64 start, size;
} replaced[HT_OPERATORS];

static void find_replaced(const struct module *m)
{
	for (u32 i = 0; i < HT_GET_NEW_HANDLER; i++) {
		const ElfW(Sym) *s = replaced[i].size ? 0 : find_symbol(m, operators[i].symbol);
		if (!s)
			continue;
		replaced[i].start = m->bias + s->st_value;
		replaced[i].size = s->st_size ? s->st_size : 1;
	}
}

static int find_operator(const struct module *m, struct cxx_operator *o)
{
	const ElfW(Sym) *s = find_symbol(m, o->symbol);
	if (!s)
		return 0;
	o->start = m->bias + s->st_value;
	o->size = s->st_size ? s->st_size : 1;
	void *function = address_of(m, s);
	ht_store_release(&o->function, wrap ? wrap((u32)(o - operators), function) : function);
	return 1;
}

static struct wanted {
	const char *name;
	void **where;
} wanted[] = {
	{"malloc", (void **)&ht_real.malloc},
	{"free", (void **)&ht_real.free},
	{"calloc", (void **)&ht_real.calloc},
	{"realloc", (void **)&ht_real.realloc},
	{"posix_memalign", (void **)&ht_real.posix_memalign},
	{"aligned_alloc", (void **)&ht_real.aligned_alloc},
	{"memalign", (void **)&ht_real.memalign},
	{"valloc", (void **)&ht_real.valloc},
	{"pvalloc", (void **)&ht_real.pvalloc},
	{"free_sized", (void **)&ht_real.free_sized},
	{"free_aligned_sized", (void **)&ht_real.free_aligned_sized},
	{"malloc_usable_size", (void **)&ht_real.usable_size},
	{"brk", (void **)&ht_real.brk},
	{"sbrk", (void **)&ht_real.sbrk},
	{"execvp", (void **)&ht_real.execvp},
	{"execvpe", (void **)&ht_real.execvpe},
	{"_dl_find_object", (void **)&ht_find_object},
	{"syscall", (void **)&ht_real_syscall},
	{"prctl", (void **)&ht_real_prctl},
	{"dlopen", (void **)&ht_real_dlopen},
	{"dlmopen", (void **)&ht_real_dlmopen},
};
#define WANTED (sizeof(wanted) / sizeof(*wanted))

// valgrind preloads a library for all of its tools, and another one for each tool that replaces malloc.
static void look_for_valgrind(const char *path)
{
	static const char prefix[] = "vgpreload_", core[] = "vgpreload_core";
	const char *name = path;
	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	u64 size = ht_strlen(name);
	if (size >= sizeof(core) - 1 && __builtin_memcmp(name, core, sizeof(core) - 1) == 0)
		ht_valgrind |= HT_VALGRIND_RUNS;
	else if (size >= sizeof(prefix) - 1 && __builtin_memcmp(name, prefix, sizeof(prefix) - 1) == 0)
		ht_valgrind |= HT_VALGRIND_REPLACES;
}

struct search {
	int behind_us;
	int malloc_found;
	u64 found; // bit i: wanted[i]
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	struct module m;
	(void)size;
	look_for_valgrind(info->dlpi_name);
	if (read_module(&m, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum) < 0)
		return 0;
	if ((u64)&ht_real - m.low < m.high - m.low) {
		ht_agent_low = m.low;
		ht_agent_size = m.high - m.low;
		ht_agent_path = info->dlpi_name; // owned by the loader, which keeps it
		search->behind_us = 1;
		return 0;
	}
	if (!search->behind_us) {
		find_replaced(&m);
		if (!*info->dlpi_name && find_symbol(&m, "malloc")) // the program
			ht_own_malloc = 1;
		return 0;
	}
	for (u32 i = 0; i < WANTED; i++) {
		const ElfW(Sym) *s = search->found >> i & 1 ? 0 : find_symbol(&m, wanted[i].name);
		if (!s)
			continue;
		*wanted[i].where = address_of(&m, s);
		search->found |= 1ull << i;
		if (i == 0 && find_symbol(&m, "gnu_get_libc_version")) {
			ht_glibc = 1;
		} else if (i == 0) {
			ht_allocator_low = m.low;
			ht_allocator_size = m.high - m.low;
		}
	}
	for (u32 i = 0; i < HT_OPERATORS; i++)
		if (!operators[i].function)
			find_operator(&m, &operators[i]);
	return 0;
}

// glibc's malloc has always kept the size in the word before the block. Verify it all the same.
static int size_word_holds(void)
{
	static const u16 sizes[] = {1, 24, 25, 100, 1000, 1500}; // the last one is too large for the thread's cache
	if (!ht_real.usable_size)
		return 0;
	for (u32 i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		u64 *p = ht_real.malloc(sizes[i]);
		if (!p)
			return 0;
		int same = (p[-1] & ~7ull) - 8 == ht_real.usable_size(p);
		ht_real.free(p);
		if (!same)
			return 0;
	}
	return 1;
}

static void *page_aligned(size_t size)
{
	return ht_real.memalign(4096, size);
}

static void *whole_pages(size_t size)
{
	return ht_real.memalign(4096, (size + 4095) & ~4095ul);
}

void ht_real_init(void)
{
	struct search search = {0};
	dl_iterate_phdr(visit, &search);
	// Programs do not call functions that their libc does not have. But a program that searches for one finds our
	// hook.
	if (!ht_real.aligned_alloc)
		ht_real.aligned_alloc = ht_real.memalign;
	if (!ht_real.memalign)
		ht_real.memalign = ht_real.aligned_alloc;
	if (!ht_real.valloc)
		ht_real.valloc = page_aligned;
	if (!ht_real.pvalloc)
		ht_real.pvalloc = whole_pages;
	if (ht_glibc && !(ht_valgrind & HT_VALGRIND_REPLACES))
		ht_glibc = size_word_holds();
	if (ht_allocator_size)
		ht_foreign_init();
}

// Used until the real functions are known. No call should come here twice; a program without any malloc cannot be
// helped.
static void *boot_malloc(size_t size)
{
	ht_init();
	return ht_real.malloc == boot_malloc ? 0 : ht_real.malloc(size);
}

static void boot_free(void *p)
{
	ht_init();
	if (ht_real.free != boot_free)
		ht_real.free(p);
}

static void *boot_calloc(size_t count, size_t size)
{
	ht_init();
	return ht_real.calloc == boot_calloc ? 0 : ht_real.calloc(count, size);
}

static void *boot_realloc(void *p, size_t size)
{
	ht_init();
	return ht_real.realloc == boot_realloc ? 0 : ht_real.realloc(p, size);
}

// ---------------------------------------------------------------------------------------------------------------------
// The C++ operators, when they are first called

static u64 known_inside[16]; // a hash table of return addresses that lie in an operator

int ht_in_operator(u64 pc)
{
	u64 *known = &known_inside[(pc >> 2) & 15];
	if (ht_load(known) == pc)
		return 1;
	for (u32 i = 0; i < HT_OPERATORS; i++)
		if (pc - replaced[i].start < replaced[i].size ||
		    (ht_load_acquire(&operators[i].function) && pc - operators[i].start < operators[i].size)) {
			ht_store(known, pc);
			return 1;
		}
	return 0;
}

static int read_image(u64 start, struct module *m)
{
	const ElfW(Ehdr) *header = (const void *)start;
	if (__builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_phentsize != sizeof(ElfW(Phdr)))
		return 0;
	const ElfW(Phdr) *phdrs = (const void *)(start + header->e_phoff);
	u64 bias = start;
	for (u32 i = 0; i < header->e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_offset == 0)
			bias = start - phdrs[i].p_vaddr;
	return read_module(m, bias, phdrs, header->e_phnum) == 0 && !ht_in_agent(m->low);
}

static int is_image(const struct ht_mapping *at, struct module *m)
{
	return at->readable && at->file == at->start && at->path[0] == '/' && read_image(at->start, m);
}

static int look_for_operator(const struct ht_mapping *at, void *arg)
{
	struct module m;
	return is_image(at, &m) && find_operator(&m, arg);
}

static void look_everywhere(int (*look)(const struct ht_mapping *, void *), void *arg)
{
	char *buffer = ht_map(HT_MODULE_BUFFER);
	if (!buffer)
		return;
	ht_maps_walk(buffer, HT_MODULE_BUFFER, look, arg);
	ht_unmap(buffer, HT_MODULE_BUFFER);
}

static int look_for_function(const struct ht_mapping *at, void *arg)
{
	const struct wanted *w = arg;
	struct module m;
	const ElfW(Sym) *s = is_image(at, &m) ? find_symbol(&m, w->name) : 0;
	if (s)
		*w->where = address_of(&m, s);
	return s != 0;
}

void ht_real_late(const char *name, void **where)
{
	struct wanted w = {name, where};
	ht_init();
	if (!*where)
		look_everywhere(look_for_function, &w);
}

void *ht_real_operator_late(u32 number)
{
	struct cxx_operator *o = &operators[number];
	ht_init();
	// An operator that was not found is searched for again after 1, 2, 4, 8 ... calls only.
	if (!ht_load_acquire(&o->function)) {
		u32 misses = __atomic_fetch_add(&o->misses, 1, __ATOMIC_RELAXED);
		if ((misses & (misses - 1)) == 0)
			look_everywhere(look_for_operator, o);
	}
	return o->function;
}

void *ht_real_operator(u32 number)
{
	void *function = ht_load_acquire(&operators[number].function);
	return ht_likely(function) ? function : ht_real_operator_late(number);
}

void ht_real_wrap_operators(void *(*with)(u32 number, void *function))
{
	wrap = with;
	for (u32 i = 0; i < HT_OPERATORS; i++)
		if (operators[i].function)
			operators[i].function = wrap(i, operators[i].function);
}
