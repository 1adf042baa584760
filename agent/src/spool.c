// SPDX-License-Identifier: Apache-2.0
//
// spool.c: the shared file through which events leave the process: how it is made, mapped and enlarged.
//
// The whole file is mapped once, at the start, as long as it may ever become: it is sparse, and most of the mapping is
// inaccessible. An array grows by segments that become accessible one after the other. That takes neither a descriptor nor
// a path nor a right to the file, so a target that closes all descriptors, changes its root or its user, or leaves its
// namespaces goes on being recorded. A page is asked of the kernel before it is touched: a store to a page that a full
// tmpfs cannot provide would be a SIGBUS in the target.
//
// Nothing here takes a lock.

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "mode.h"
#include "spool.h"
#include "sys.h"

#define PATH_MAX_HERE 4096

struct ht_header *ht_header;
struct ht_proc *ht_procs;
struct ht_stream *ht_streams;
u8 *ht_chunks;
struct ht_pc *ht_pcs;
struct ht_node *ht_nodes;
u8 *ht_module_log, *ht_name_log;
struct ht_counts *ht_counts;
u64 ht_mapped[HT_SEG_TYPES];

static u8 *array_base[HT_SEG_TYPES];
static char spool_path[PATH_MAX_HERE];
static char spill_folder[PATH_MAX_HERE];
static char spill_name[256];
static u64 spill_folder_device, spill_folder_inode;

static const struct array {
	u64 element; // bytes of an element
	u64 first; // bytes of the first segment
	u64 reserved; // bytes of address space
} arrays[HT_SEG_TYPES] = {
	[HT_SEG_META] = {1, 64u << 10, 64u << 10},
	[HT_SEG_PROCS] = {sizeof(struct ht_proc), 4096, 4u << 20},
	[HT_SEG_STREAMS] = {sizeof(struct ht_stream), 8192, 16u << 20},
	[HT_SEG_CHUNKS] = {HT_CHUNK_SIZE, 256u << 10, 1u << 30},
	[HT_SEG_PCS] = {sizeof(struct ht_pc), 16u << 10, 256u << 20},
	[HT_SEG_NODES] = {sizeof(struct ht_node), 64u << 10, 1u << 30},
	[HT_SEG_MODULES] = {1, 64u << 10, 64u << 20},
	[HT_SEG_COUNTS] = {sizeof(struct ht_counts), 128u << 10, 512u << 20},
	[HT_SEG_NAMES] = {1, 16u << 10, 16u << 20},
};
static u64 spool_size; // of the mapping
static int in_run; // of heaptap run; else the library was preloaded by hand
static u32 reserve_shift; // address space or file size is limited: reserve less by this power of two
static int counts_wanted; // in count mode, or with --time-calls: neither begins later

// Where a filter forbids to map memory, it comes from a reserve, and is not given back.
#define RESERVE (32u << 20)
static u8 *reserve;
static u64 reserve_used;

static long map_pages(u64 size)
{
	return ht_sys6(__NR_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *take_reserve(u64 size)
{
	u64 at = ht_load(&reserve_used);
	do {
		if (!ht_load_acquire(&reserve) || size > RESERVE - at)
			return 0;
	} while (!__atomic_compare_exchange_n(&reserve_used, &at, at + size, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return reserve + at;
}

static int is_reserve(const void *p)
{
	const u8 *start = ht_load_acquire(&reserve);
	return start && (u64)((const u8 *)p - start) < RESERVE;
}

void ht_map_ahead(void)
{
	u8 *none = 0;
	long p = ht_load(&reserve) ? -1 : map_pages(RESERVE);
	if (p > 0 && !__atomic_compare_exchange_n(&reserve, &none, (u8 *)p, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		ht_unmap((void *)p, RESERVE);
}

void *ht_map(u64 size)
{
	size = (size + 4095) & ~4095ull;
	long p = map_pages(size);
	return p < 0 && p > -4096 ? take_reserve(size) : (void *)p;
}

void ht_unmap(void *p, u64 size)
{
	if (!is_reserve(p))
		ht_sys2(__NR_munmap, p, (size + 4095) & ~4095ull);
}

void *ht_remap(void *p, u64 old_size, u64 new_size)
{
	long q = is_reserve(p) ? -1
			       : ht_sys4(__NR_mremap, p, (old_size + 4095) & ~4095ull, (new_size + 4095) & ~4095ull,
					 MREMAP_MAYMOVE);
	if (q > 0)
		return (void *)q;
	void *other = ht_load(&reserve) ? ht_map(new_size) : 0;
	if (other) {
		__builtin_memcpy(other, p, old_size < new_size ? old_size : new_size);
		ht_unmap(p, old_size);
	}
	return other;
}

// CLOCK_MONOTONIC and the timestamp counter before a filter forbade to ask.
static u64 last_mono, last_tsc;

u64 ht_now_ns(int clock)
{
	struct timespec t = {0, 0};
	if (ht_likely(ht_sys2(__NR_clock_gettime, clock, &t) == 0))
		return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
	if (ht_local.stopped)
		return last_mono;
	// A filter forbids to ask. If it came unseen, some 2.5 ticks are a nanosecond.
	u64 mono = last_mono ? last_mono : ht_header->mono0, tsc = last_mono ? last_tsc : ht_header->tsc0;
	u64 ns = last_mono ? mono - ht_header->mono0 : 2, ticks = last_mono ? tsc - ht_header->tsc0 + 1 : 5;
	return mono + (u64)((unsigned __int128)(ht_clock() - tsc) * ns / ticks);
}

void ht_now_ahead(void)
{
	if (last_mono)
		return;
	u64 mono = ht_now_ns(CLOCK_MONOTONIC);
	last_tsc = ht_clock();
	ht_store_release(&last_mono, mono);
}

// ---------------------------------------------------------------------------------------------------------------------
// Segments

int ht_size_allowed(u64 end)
{
	static u64 last = RLIM_INFINITY; // where a filter forbids to ask
	struct rlimit limit;
	if (ht_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) == 0)
		ht_store(&last, limit.rlim_cur);
	u64 most = ht_load(&last);
	return most == RLIM_INFINITY || end <= most;
}

// Counts take the space of half of the nodes: who counts takes few call stacks.
static u64 reserved(int type)
{
	u64 size = arrays[type].reserved >> reserve_shift;
	if (type == HT_SEG_COUNTS && !counts_wanted)
		size = 0;
	if (type == HT_SEG_NODES && counts_wanted)
		size /= 2;
	return size > arrays[type].first ? size : arrays[type].first;
}

static u64 segment_length(int type, u32 n)
{
	return n == 0 ? arrays[type].first : arrays[type].first << (n - 1);
}

// Makes the pages of a part of the mapping accessible, and has the kernel find memory or disk for them. What they hold
// already, they keep: any number of threads and processes may do this to the same pages at the same time.
static int provide(u8 *at, u64 length, int accessible)
{
	long r = accessible ? 0 : ht_sys3(__NR_mprotect, at, length, PROT_READ | PROT_WRITE);
	if (r < 0)
		return -1;
	do
		r = ht_sys3(__NR_madvise, at, length, 23 /* MADV_POPULATE_WRITE */);
	while (r == -4 /* EINTR */);
	if (r == 0 || r == -14 /* EFAULT */ || r == -12 /* ENOMEM */)
		return r == 0 ? 0 : -1;
	// Linux before 5.14. Here the kernel ors 0 to a word of every page, and where our own store would be a SIGBUS, it is
	// an error. Nobody is woken.
	for (u64 i = 0; i < length; i += 4096)
		if (ht_sys6(__NR_futex, at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, at + i,
			    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)) < 0)
			return -1;
	return 0;
}

// Where there was no memory, there will hardly be any for the next event: tries are RETRY ticks of the clock apart.
#define RETRY (1ull << 28)
static u64 refused[HT_SEG_TYPES]; // clock at the latest failure, 0 if there was none

static u64 opened[HT_SEG_TYPES]; // bytes of each array that are accessible already, see ht_spool_open_ahead

int ht_array_reach(int type, u64 index)
{
	const struct array *a = &arrays[type];
	for (;;) {
		u64 have = ht_load_acquire(&ht_mapped[type]), bytes = have * a->element;
		u32 n = bytes == 0 ? 0 : 1 + (u32)__builtin_ctzll(bytes / a->first);
		if (index < have)
			return 0;
		u64 length = segment_length(type, n);
		u8 *at = array_base[type] + bytes;
		if (n >= HT_SEGMENTS || bytes + length > reserved(type))
			return -1;
		if (ht_unlikely(ht_local.stopped)) // it is no event of this thread's that needs it
			return -1;
		u64 before = ht_load(&refused[type]);
		if (before && ht_clock() - before < RETRY)
			return -1;
		if (provide(at, length, bytes + length <= ht_load(&opened[type])) < 0) {
			ht_store(&refused[type], ht_clock());
			return -1;
		}
		ht_store_release(&ht_header->segments[type][n], (u64)(at - (u8 *)ht_header));
		__atomic_compare_exchange_n(&ht_mapped[type], &have, have + length / a->element, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
}

void ht_spool_open_ahead(int some)
{
	static const u64 share[HT_SEG_TYPES] = {
		[HT_SEG_PROCS] = 1u << 20,  [HT_SEG_STREAMS] = 2u << 20, [HT_SEG_CHUNKS] = 32u << 20,
		[HT_SEG_PCS] = 16u << 20,   [HT_SEG_NODES] = 64u << 20,	 [HT_SEG_MODULES] = 4u << 20,
		[HT_SEG_COUNTS] = 8u << 20, [HT_SEG_NAMES] = 1u << 20,
	};
	for (int type = 1; type < HT_SEG_TYPES; type++) {
		u64 size = reserved(type);
		if (some && size > share[type])
			size = share[type];
		if (size > ht_load(&opened[type]) &&
		    ht_sys3(__NR_mprotect, array_base[type], size, PROT_READ | PROT_WRITE) == 0)
			ht_store(&opened[type], size);
	}
}

void ht_spool_fill_ahead(void)
{
	ht_array_reach(HT_SEG_CHUNKS, 127);
	ht_array_reach(HT_SEG_STREAMS, 127);
	ht_array_reach(HT_SEG_PCS, (1 << 14) - 1);
	ht_array_reach(HT_SEG_NODES, (1 << 18) - 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Creation

static const char *base_name(const char *path)
{
	const char *base = path;
	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

const char *ht_spool_name(void)
{
	return base_name(spool_path);
}

int ht_spool_folder(char *out, u64 size)
{
	u64 n = (u64)(base_name(spool_path) - spool_path);
	if (!in_run || n < 2 || n > size)
		return 0;
	__builtin_memcpy(out, spool_path, n - 1);
	out[n - 1] = 0;
	return 1;
}

static void name_in_run(const char *run, u64 pid)
{
	spool_path[0] = 0;
	ht_append(spool_path, sizeof(spool_path), run);
	ht_append(spool_path, sizeof(spool_path), "/");
	ht_append_number(spool_path, sizeof(spool_path), pid, 10);
	ht_append(spool_path, sizeof(spool_path), "-");
	ht_append_number(spool_path, sizeof(spool_path), ht_clock(), 16);
	ht_append(spool_path, sizeof(spool_path), ".spool");
}

static long create_in_run(const char *run, u64 pid)
{
	name_in_run(run, pid);
	return ht_sys4(__NR_openat, AT_FDCWD, spool_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

// NAME.PID.spool, then NAME.PID.2.spool and on: the same process may exec the same program again.
static long create_alone(const char *folder, const char *exe, u64 pid)
{
	long fd = -1;
	for (u32 n = 1; n < 1000; n++) {
		spool_path[0] = 0;
		// The program may change its folder later.
		if (folder[0] != '/' && ht_sys2(__NR_getcwd, spool_path, sizeof(spool_path)) > 0)
			ht_append(spool_path, sizeof(spool_path), "/");
		ht_append(spool_path, sizeof(spool_path), folder);
		ht_append(spool_path, sizeof(spool_path), "/");
		ht_append(spool_path, sizeof(spool_path), base_name(exe));
		ht_append(spool_path, sizeof(spool_path), ".");
		ht_append_number(spool_path, sizeof(spool_path), pid, 10);
		if (n > 1) {
			ht_append(spool_path, sizeof(spool_path), ".");
			ht_append_number(spool_path, sizeof(spool_path), n, 10);
		}
		ht_append(spool_path, sizeof(spool_path), ".spool");
		fd = ht_sys4(__NR_openat, AT_FDCWD, spool_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd != -17 /* EEXIST */)
			break;
	}
	return fd;
}

// A later root or mount namespace may have another folder by that name: what is written there nobody would find.
static long open_spill_folder(struct stat *st)
{
	long fd = ht_sys4(__NR_openat, AT_FDCWD, spill_folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd >= 0 && ht_sys2(__NR_fstat, fd, st) < 0) {
		ht_sys1(__NR_close, fd);
		fd = -1;
	}
	return fd;
}

static void name_spill(const char *folder)
{
	struct stat st;
	const char *name = base_name(spool_path);
	u64 n = ht_append(spill_folder, sizeof(spill_folder), folder ? folder : spool_path);
	if (!folder && n > ht_strlen(name))
		spill_folder[n - ht_strlen(name)] = 0;
	n = ht_append(spill_name, sizeof(spill_name), name);
	for (u32 i = 0; i < 5; i++) // spool -> spill
		spill_name[n - 5 + i] = "spill"[i];
	long fd = open_spill_folder(&st);
	if (fd >= 0) {
		spill_folder_device = st.st_dev;
		spill_folder_inode = st.st_ino;
		ht_sys1(__NR_close, fd);
	}
}

long ht_spill_open(void)
{
	struct stat st;
	long file = -1, fd = open_spill_folder(&st);
	if (fd < 0)
		return -1;
	if (st.st_dev == spill_folder_device && st.st_ino == spill_folder_inode)
		file = ht_sys4(__NR_openat, fd, spill_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			       0600);
	ht_sys1(__NR_close, fd);
	return file;
}

// For heaptap run, which tells the user: an empty file, called as the spool was, with .aside, or another reason, for .spool.
static void leave_mark(const char *reason)
{
	u64 n = ht_strlen(spool_path);
	if (!in_run || n < 5)
		return;
	spool_path[n - 5] = 0;
	ht_append(spool_path, sizeof(spool_path), reason);
	long fd = ht_sys4(__NR_openat, AT_FDCWD, spool_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
}

#define NOT_RECORDED "; this process is not recorded (set HEAPTAP_DIR to a writable folder)"

// Without `heaptap run` nobody else can tell the user.
static void complain(const char *what)
{
	char text[256] = "heaptap: ";
	ht_append(text, sizeof(text), what);
	ht_append(text, sizeof(text), "\n");
	ht_sys3(__NR_write, 2, text, ht_strlen(text));
}

// May the address space grow by this much, and by three times as much for the target?
static int has_space(u64 size)
{
	struct rlimit space;
	if (ht_sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &space) < 0 || space.rlim_cur == RLIM_INFINITY)
		return 1;
	if (size > 38u << 20 && size > space.rlim_cur / 64)
		return 0;
	long p = ht_sys6(__NR_mmap, 0, 4 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0 && p > -4096)
		return 0;
	ht_sys2(__NR_munmap, p, 4 * size);
	return 1;
}

// Maps header and arrays, with as much room to grow as limits allow. docs/guide.md says what that comes to.
static int map_spool(long fd)
{
	for (reserve_shift = 0; reserve_shift <= 8; reserve_shift++) {
		u64 total = HT_HEADER_SIZE;
		for (int type = 1; type < HT_SEG_TYPES; type++)
			total += reserved(type);
		if (!has_space(total) || !ht_size_allowed(total) || ht_sys2(__NR_ftruncate, fd, total) < 0)
			continue;
		long p = ht_sys6(__NR_mmap, 0, total, PROT_NONE, MAP_SHARED, fd, 0);
		if (p < 0 && p > -4096)
			continue;
		ht_sys3(__NR_madvise, p, total, MADV_DONTDUMP);
		ht_header = (struct ht_header *)p;
		spool_size = total;
		u8 *next = (u8 *)p + HT_HEADER_SIZE;
		for (int type = 1; type < HT_SEG_TYPES; type++) {
			array_base[type] = next;
			next += reserved(type);
		}
		return provide((u8 *)p, HT_HEADER_SIZE, 0);
	}
	return -1;
}

static void write_meta(const char *exe)
{
	struct ht_meta *meta = (struct ht_meta *)array_base[HT_SEG_META];
	char *out = (char *)(meta + 1), *end = (char *)meta + arrays[HT_SEG_META].first;
	struct {
		char field[6][65];
	} uts;
	char name[16] = "";

	out[0] = 0;
	meta->exe_size = (u32)ht_append(out, 4096, exe) + 1;
	out += meta->exe_size;

	long fd = ht_sys4(__NR_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : ht_sys3(__NR_read, fd, out, 32768);
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
	if (n <= 0) {
		ht_sys5(__NR_prctl, 16 /* PR_GET_NAME */, name, 0, 0, 0);
		out[0] = 0;
		n = (long)ht_append(out, 64, name) + 1;
	}
	out[n - 1] = 0;
	meta->cmdline_size = (u32)n;
	out += n;

	n = ht_sys2(__NR_getcwd, out, 4096);
	if (n <= 0)
		out[0] = 0, n = 1;
	meta->cwd_size = (u32)n;
	out += n;

	out[0] = 0;
	if (ht_sys1(__NR_uname, &uts) == 0)
		ht_append(out, 65, uts.field[1]);
	meta->host_size = (u32)ht_strlen(out) + 1;
	out += meta->host_size;

	meta->env_size = (u32)ht_environ_copy(out, (u64)(end - out));
}

static void fill_header(u64 pid, const char *run)
{
	struct ht_header *h = ht_header;
	h->version = HT_WIRE_VERSION;
	h->arch = HT_ARCH;
	h->pid = (u32)pid;
	h->page_size = 4096;
	h->tsc0 = h->tsc1 = ht_clock();
	h->mono0 = h->mono1 = ht_now_ns(CLOCK_MONOTONIC);
	h->real0 = ht_now_ns(CLOCK_REALTIME);
	const char *limit = ht_environ_get("HEAPTAP_SPILL_LIMIT");
	u64 most = 4ull << 30;
	if (limit && ht_number_exact(limit, &most) < 0) {
		ht_complain("HEAPTAP_SPILL_LIMIT", limit, "a number of bytes as 512M or 4G");
		most = 4ull << 30;
	}
	h->spill_limit = most;
	h->file_end = spool_size;
	h->next_uid = 1;
	h->next_module = h->next_pc = h->next_node = h->next_counts = 1;
	h->free_chunks = h->free_streams = HT_LIST_EMPTY;
	h->recorder_state = run ? HT_RECORDER_EXPECTED : HT_RECORDER_NONE;
	for (int type = 1; type < HT_SEG_TYPES; type++)
		h->segment_first[type] = arrays[type].first;
	// MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: lets the recorder order our stores from its side, at no cost on ours.
	h->barrier = ht_sys3(__NR_membarrier, 1 << 2, 0, 0) == 0;
}

void ht_spool_unmade(const char *reason, const char *text)
{
	const char *run = ht_environ_get("HEAPTAP_RUN");
	in_run = run != 0;
	if (run)
		name_in_run(run, (u64)ht_sys0(__NR_getpid));
	else
		complain(text);
	leave_mark(reason);
}

int ht_spool_init(void)
{
	static const u8 first_types[] = {HT_SEG_META, HT_SEG_PROCS, HT_SEG_STREAMS, HT_SEG_CHUNKS,
					 HT_SEG_PCS,  HT_SEG_NODES, HT_SEG_MODULES};
	static char exe[PATH_MAX_HERE];
	const char *run = ht_environ_get("HEAPTAP_RUN"), *folder = ht_environ_get("HEAPTAP_DIR");
	u64 pid = (u64)ht_sys0(__NR_getpid);
	long n = ht_sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;

	long fd = run ? create_in_run(run, pid) : create_alone(folder ? folder : ".", *exe ? exe : "program", pid);
	in_run = run != 0;
	if (fd < 0) {
		if (!run)
			complain("cannot create a spool file" NOT_RECORDED);
		leave_mark(ht_filtered ? "seccomp" : "aside");
		return -1;
	}
	name_spill(run ? ht_environ_get("HEAPTAP_SPILL_DIR") : 0);
	const char *mode = ht_environ_get("HEAPTAP_MODE");
	counts_wanted = (mode && ht_streq(mode, "count")) || ht_environ_get("HEAPTAP_TIME_CALLS") != 0;

	int mapped = map_spool(fd);
	ht_sys1(__NR_close, fd);
	if (mapped < 0)
		goto fail;
	fill_header(pid, run);
	for (u32 i = 0; i < sizeof(first_types); i++)
		if (ht_array_reach(first_types[i], 0) < 0)
			goto fail;
	ht_procs = (struct ht_proc *)array_base[HT_SEG_PROCS];
	ht_streams = (struct ht_stream *)array_base[HT_SEG_STREAMS];
	ht_chunks = array_base[HT_SEG_CHUNKS];
	ht_pcs = (struct ht_pc *)array_base[HT_SEG_PCS];
	ht_nodes = (struct ht_node *)array_base[HT_SEG_NODES];
	ht_module_log = array_base[HT_SEG_MODULES];
	ht_name_log = array_base[HT_SEG_NAMES];
	ht_counts = (struct ht_counts *)array_base[HT_SEG_COUNTS];
	write_meta(exe);
	return 0;

fail:
	ht_spool_drop();
	if (!run)
		complain("not enough disk space or address space for the spool" NOT_RECORDED);
	return -1;
}

void ht_spool_drop(void)
{
	if (ht_header)
		ht_sys2(__NR_munmap, ht_header, spool_size);
	ht_header = 0;
	ht_sys3(__NR_unlinkat, AT_FDCWD, spool_path, 0);
	leave_mark(ht_filtered ? "seccomp" : "aside");
}

void ht_spool_publish(void)
{
	ht_store_release(&ht_header->magic, HT_SPOOL_MAGIC);
}
