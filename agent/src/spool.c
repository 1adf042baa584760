// SPDX-License-Identifier: Apache-2.0
//
// spool.c: the shared file through which events leave the process: how it is made, mapped and enlarged.
//
// Arrays live in reserved address space and grow by segments of the file, mapped one behind the other. A page of the file
// is allocated before it is touched: a store to a page that a full tmpfs cannot provide would be a SIGBUS in the target.
// The file is opened by its path whenever that is needed and closed at once: a target may close or reuse any descriptor.
//
// Nothing here takes a lock.

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "spool.h"
#include "sys.h"

#define PATH_MAX_HERE 4096

struct ht_header *ht_header;
struct ht_proc *ht_procs;
struct ht_stream *ht_streams;
u8 *ht_chunks;
struct ht_pc *ht_pcs;
struct ht_node *ht_nodes;
u8 *ht_module_log;
u64 ht_mapped[HT_SEG_TYPES];

static u8 *array_base[HT_SEG_TYPES];
static char spool_path[PATH_MAX_HERE];
char ht_spill_path[PATH_MAX_HERE];

static const struct array {
	u64 element; // bytes of an element
	u64 first; // bytes of the first segment
	u64 reserved; // bytes of address space
} arrays[HT_SEG_TYPES] = {
	[HT_SEG_META] = {1, 64u << 10, 64u << 10},
	[HT_SEG_PROCS] = {sizeof(struct ht_proc), 4096, 4u << 20},
	[HT_SEG_STREAMS] = {sizeof(struct ht_stream), 8192, 16u << 20},
	[HT_SEG_CHUNKS] = {HT_CHUNK_SIZE, 2u << 20, 1u << 30},
	[HT_SEG_PCS] = {sizeof(struct ht_pc), 64u << 10, 256u << 20},
	[HT_SEG_NODES] = {sizeof(struct ht_node), 256u << 10, 1u << 30},
	[HT_SEG_MODULES] = {1, 64u << 10, 64u << 20},
};
static u32 reserve_shift; // address space is scarce: reserve less by this power of two

void *ht_map(u64 size)
{
	long p = ht_sys6(__NR_mmap, 0, (size + 4095) & ~4095ull, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p < 0 && p > -4096 ? 0 : (void *)p;
}

void ht_unmap(void *p, u64 size)
{
	ht_sys2(__NR_munmap, p, (size + 4095) & ~4095ull);
}

void *ht_remap(void *p, u64 old_size, u64 new_size)
{
	long q = ht_sys4(__NR_mremap, p, (old_size + 4095) & ~4095ull, (new_size + 4095) & ~4095ull, MREMAP_MAYMOVE);
	return q < 0 && q > -4096 ? 0 : (void *)q;
}

u64 ht_now_ns(int clock)
{
	struct timespec t = {0, 0};
	ht_sys2(__NR_clock_gettime, clock, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

// ---------------------------------------------------------------------------------------------------------------------
// Segments

static long open_spool(void)
{
	return ht_sys4(__NR_openat, AT_FDCWD, spool_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
}

int ht_size_allowed(u64 end)
{
	struct rlimit limit;
	if (ht_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
		return 1;
	return limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

static int allocate_range(long fd, u64 offset, u64 length)
{
	static const char zeros[4096];
	long r;
	if (!ht_size_allowed(offset + length))
		return -1;
	do
		r = ht_sys4(__NR_fallocate, fd, 0, offset, length);
	while (r == -4 /* EINTR */);
	if (r == 0)
		return 0;
	if (r != -95 /* EOPNOTSUPP */ && r != -38 /* ENOSYS */)
		return -1;
	for (u64 done = 0; done < length; done += sizeof(zeros))
		if (ht_sys4(__NR_pwrite64, fd, zeros, sizeof(zeros), offset + done) != (long)sizeof(zeros))
			return -1;
	return 0;
}

static u64 reserved(int type)
{
	u64 size = arrays[type].reserved >> reserve_shift;
	return size > arrays[type].first ? size : arrays[type].first;
}

static u64 segment_length(int type, u32 n)
{
	return n == 0 ? arrays[type].first : arrays[type].first << (n - 1);
}

// Adds segment n of an array, or leaves that to somebody who is at it: a thousand children that all need one at the same
// moment are to make one. But a maker may have been killed, or we are a signal handler on top of it, so patience ends.
static u64 add_segment(long fd, int type, u32 n)
{
	u64 *place = &ht_header->segments[type][n];
	u64 length = segment_length(type, n), seen = 0;
	struct timespec nap = {0, 1000000};

	if (!__atomic_compare_exchange_n(place, &seen, HT_SEGMENT_COMING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		for (u32 i = 0; i < 100 && (seen = ht_load_acquire(place)) == HT_SEGMENT_COMING; i++)
			ht_sys2(__NR_nanosleep, &nap, 0);
	else
		seen = HT_SEGMENT_COMING;
	if (seen != HT_SEGMENT_COMING)
		return seen;
	u64 offset = __atomic_fetch_add(&ht_header->file_end, length, __ATOMIC_RELAXED);
	if (allocate_range(fd, offset, length) < 0) {
		__atomic_compare_exchange_n(place, &seen, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		return 0;
	}
	if (__atomic_compare_exchange_n(place, &seen, offset, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return offset;
	ht_sys4(__NR_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
	return seen == HT_SEGMENT_COMING ? 0 : seen;
}

static int map_segment(int type, u32 n, u64 at)
{
	u64 offset = ht_load_acquire(&ht_header->segments[type][n]);
	long fd = open_spool(), r = -1;
	if (fd < 0)
		return -1;
	if (offset <= HT_SEGMENT_COMING)
		offset = add_segment(fd, type, n);
	if (offset)
		r = ht_sys6(__NR_mmap, array_base[type] + at, segment_length(type, n), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, offset);
	ht_sys1(__NR_close, fd);
	return r < 0 && r > -4096 ? -1 : 0;
}

int ht_array_reach(int type, u64 index)
{
	const struct array *a = &arrays[type];
	for (;;) {
		u64 have = ht_load_acquire(&ht_mapped[type]), bytes = have * a->element;
		u32 n = bytes == 0 ? 0 : 1 + (u32)__builtin_ctzll(bytes / a->first);
		if (index < have)
			return 0;
		u64 length = segment_length(type, n);
		if (n >= HT_SEGMENTS || bytes + length > reserved(type))
			return -1;
		// Another thread may do the same at the same time: it maps the same bytes to the same place.
		if (map_segment(type, n, bytes) < 0)
			return -1;
		__atomic_compare_exchange_n(&ht_mapped[type], &have, have + length / a->element, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
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

static long create_in_run(const char *run, u64 pid)
{
	spool_path[0] = 0;
	ht_append(spool_path, sizeof(spool_path), run);
	ht_append(spool_path, sizeof(spool_path), "/");
	ht_append_number(spool_path, sizeof(spool_path), pid, 10);
	ht_append(spool_path, sizeof(spool_path), "-");
	ht_append_number(spool_path, sizeof(spool_path), ht_clock(), 16);
	ht_append(spool_path, sizeof(spool_path), ".spool");
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

static void name_spill(const char *folder)
{
	u64 n;
	ht_spill_path[0] = 0;
	if (folder) {
		ht_append(ht_spill_path, sizeof(ht_spill_path), folder);
		ht_append(ht_spill_path, sizeof(ht_spill_path), "/");
		n = ht_append(ht_spill_path, sizeof(ht_spill_path), base_name(spool_path));
	} else {
		n = ht_append(ht_spill_path, sizeof(ht_spill_path), spool_path);
	}
	for (u32 i = 0; i < 5; i++) // spool -> spill
		ht_spill_path[n - 5 + i] = "spill"[i];
}

// Without `heaptap run` nobody else can tell the user.
static void complain(const char *what)
{
	char text[256] = "heaptap: ";
	ht_append(text, sizeof(text), what);
	ht_append(text, sizeof(text), "; this process is not recorded (set HEAPTAP_DIR to a writable folder)\n");
	ht_sys3(__NR_write, 2, text, ht_strlen(text));
}

static int reserve_arrays(void)
{
	struct rlimit limit;
	if (ht_sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		reserve_shift = 4;
	for (; reserve_shift < 8; reserve_shift++) {
		u64 total = 0;
		for (int type = 1; type < HT_SEG_TYPES; type++)
			total += reserved(type);
		long p = ht_sys6(__NR_mmap, 0, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p < 0 && p > -4096)
			continue;
		for (int type = 1; type < HT_SEG_TYPES; type++) {
			array_base[type] = (u8 *)p;
			p += (long)reserved(type);
		}
		return 0;
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
	h->spill_limit = ht_number(ht_environ_get("HEAPTAP_SPILL_LIMIT"), 4ull << 30);
	h->file_end = HT_HEADER_SIZE;
	h->next_uid = 1;
	h->next_module = h->next_pc = h->next_node = 1;
	h->free_chunks = h->free_streams = HT_LIST_EMPTY;
	h->recorder_state = run ? HT_RECORDER_EXPECTED : HT_RECORDER_NONE;
	for (int type = 1; type < HT_SEG_TYPES; type++)
		h->segment_first[type] = arrays[type].first;
	// MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: lets the recorder order our stores from its side, at no cost on ours.
	h->barrier = ht_sys3(__NR_membarrier, 1 << 2, 0, 0) == 0;
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
	if (fd < 0) {
		if (!run)
			complain("cannot create a spool file");
		return -1;
	}
	name_spill(run ? ht_environ_get("HEAPTAP_SPILL_DIR") : 0);

	long p = -1;
	if (allocate_range(fd, 0, HT_HEADER_SIZE) == 0 && reserve_arrays() == 0)
		p = ht_sys6(__NR_mmap, 0, HT_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	ht_sys1(__NR_close, fd);
	if (p < 0 && p > -4096)
		goto fail;
	ht_header = (struct ht_header *)p;
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
	write_meta(exe);
	return 0;

fail:
	ht_header = 0;
	ht_sys3(__NR_unlinkat, AT_FDCWD, spool_path, 0);
	if (!run)
		complain("not enough disk space or address space for the spool");
	return -1;
}

void ht_spool_publish(void)
{
	ht_store_release(&ht_header->magic, HT_SPOOL_MAGIC);
}
