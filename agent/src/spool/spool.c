// SPDX-License-Identifier: Apache-2.0
//
// spool.c: creates, maps and enlarges the shared file through which events leave the process.
//
// The file is sparse, and has its maximum length from the start. Only the used parts are mapped: each array has a
// mapping of its own, which begins small and is extended by mremap. That needs no descriptor, path or permission, so a
// target that closes all descriptors, changes its root or its user, or leaves its namespaces is still recorded. And it
// reserves no address space, which a target with a limit would lack. Pages are populated before they are touched: a
// store to a page that a full tmpfs cannot provide would be a SIGBUS in the target.
//
// Nothing here takes a lock. Threads and signal handlers may extend the same array concurrently.

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "spool/spool.h"
#include "base/arch_amd64.h"
#include "base/environ.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/sys.h"
#include "spool/admit.h"
#include "spool/arrays.h"
#include "spool/sum.h"

#define PATH_MAX_HERE 4096
#define CMDLINE_MAX 32768
#define HOST_MAX 66

struct ht_header *ht_header;
struct ht_array ht_arrays[HT_SEG_TYPES];

// The beginning of each array is mapped twice: near, side by side, and far from each other, where there is room to
// grow. A short process touches the near mappings only, which need one page of page tables instead of a dozen.
static u8 *near[HT_SEG_TYPES], *far[HT_SEG_TYPES];
static u64 near_length;

static char spool_path[PATH_MAX_HERE] HT_LARGE;
static char spill_folder[PATH_MAX_HERE] HT_LARGE;
static char spill_name[256];
static u64 spill_folder_device, spill_folder_inode;

static const struct array {
	u64 element; // bytes of an element
	u64 first; // bytes of the first segment
	u64 most; // the most bytes of the array in the file
	u64 limited; // the same if the size of files is limited; halved until it fits
} arrays[HT_SEG_TYPES] = {
	[HT_SEG_META] = {1, 64u << 10, 64u << 10, 64u << 10},
	[HT_SEG_PROCS] = {sizeof(struct ht_proc), 4096, 4u << 20, 4u << 20},
	[HT_SEG_STREAMS] = {sizeof(struct ht_stream), 8192, 64u << 20, 16u << 20},
	[HT_SEG_CHUNKS] = {HT_CHUNK_SIZE, 256u << 10, 16ull << 30, 1u << 30},
	[HT_SEG_PCS] = {sizeof(struct ht_pc), 16u << 10, 256u << 20, 256u << 20},
	[HT_SEG_NODES] = {sizeof(struct ht_node), 16u << 10, 1u << 30, 1u << 30},
	[HT_SEG_MODULES] = {1, 16u << 10, 64u << 20, 64u << 20},
	[HT_SEG_COUNTS] = {sizeof(struct ht_counts), 128u << 10, 512u << 20, 512u << 20},
	[HT_SEG_NAMES] = {1, 16u << 10, 16u << 20, 16u << 20},
};
static u64 array_place[HT_SEG_TYPES]; // where each array begins in the file
static u64 spool_size; // of the file
static u64 taken; // address space that the arrays use
static int in_run; // started by heaptap run; otherwise the library was preloaded by hand
static int admitted; // the recorder created the spool, in a folder that this process cannot reach
static u32 spool_owner; // the user that owns the spill file
static u32 size_shift; // if the size of files is limited: the file is shorter by this power of two
static int counts_wanted; // in count mode, or with --time-calls: neither begins later

// If a filter forbids mmap, memory comes from a reserve, and is never freed.
#define RESERVE (32u << 20)
static u8 *reserve;
static u64 reserve_used;

#define POPULATE 23 // MADV_POPULATE_WRITE, since Linux 5.14

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

void *ht_map_filled(u64 size)
{
	void *p = ht_map(size);
	if (p)
		ht_sys3(__NR_madvise, p, size, POPULATE);
	return p;
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

// CLOCK_MONOTONIC and the timestamp counter, read before a filter forbade it.
static u64 last_mono, last_tsc;

u64 ht_now_ns(int clock)
{
	struct timespec t = {0, 0};
	if (ht_likely(ht_sys2(__NR_clock_gettime, clock, &t) == 0))
		return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
	if (ht_local.stopped)
		return last_mono;
	// A filter forbids the call. If the filter was installed unseen, assume 2.5 ticks a nanosecond.
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
	static u64 last = RLIM_INFINITY; // used if a filter forbids the call
	struct rlimit limit;
	if (ht_sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) == 0)
		ht_store(&last, limit.rlim_cur);
	u64 most = ht_load(&last);
	return most == RLIM_INFINITY || end <= most;
}

// Counts take the place of half of the nodes, because count mode needs few call stacks.
static u64 most(int type)
{
	u64 size = size_shift ? arrays[type].limited >> size_shift : arrays[type].most;
	if (type == HT_SEG_COUNTS && !counts_wanted)
		size = 0;
	if (type == HT_SEG_NODES && counts_wanted)
		size /= 2;
	return size > arrays[type].first ? size : arrays[type].first;
}

// An array doubles, but grows by no more than this at once, because the thread that needs it waits for the pages.
#define STEP (2ull << 20)
static u64 next_length(int type, u64 length)
{
	u64 step = length < STEP ? length : STEP;
	return length ? length + step : arrays[type].first;
}

// Returns the segment that contains a byte of an array, see HT_SEGMENTS.
static u32 segment_of(int type, u64 at)
{
	u64 n = at / arrays[type].first;
	return n ? 64 - (u32)__builtin_clzll(n) : 0;
}

static u64 filled; // bytes of the chunks that are populated already, see ht_spool_fill_ahead

int ht_provide(u8 *at, u64 length)
{
	long r;
	if (ht_unlikely(ht_load(&filled)) && ((u64)(at - ht_load_acquire(&ht_chunks)) < ht_load(&filled) ||
					      (u64)(at - near[HT_SEG_CHUNKS]) < arrays[HT_SEG_CHUNKS].first))
		return 0;
	do
		r = ht_sys3(__NR_madvise, at, length, POPULATE);
	while (r == -4 /* EINTR */);
	if (r == 0 || r == -14 /* EFAULT */ || r == -12 /* ENOMEM */)
		return r == 0 ? 0 : -1;
	// Linux before 5.14: FUTEX_WAKE_OP makes the kernel or 0 into a word of every page. It fails where our own
	// store would be a SIGBUS. It wakes no thread.
	for (u64 i = 0; i < length; i += 4096)
		if (ht_sys6(__NR_futex, at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, at + i,
			    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)) < 0)
			return -1;
	return 0;
}

// If the address space is limited, now or later, the agent uses little of it: this much, or a quarter of what was free
// at the start, or a 64th of the limit. It never tries out how much is free later, because another thread may need that
// meanwhile. docs/guide.md gives the resulting numbers.
#define LITTLE (38ull << 20)
static u64 allowance = LITTLE;

static u64 space_limit(void)
{
	struct rlimit space;
	return ht_sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &space) < 0 ? RLIM_INFINITY : space.rlim_cur;
}

static int has_space(u64 more)
{
	u64 limit = space_limit(), all = ht_load(&taken) + more;
	return limit == RLIM_INFINITY || all <= allowance || all <= limit / 64;
}

// There is no other thread yet.
static int find_allowance(void)
{
	if (space_limit() == RLIM_INFINITY)
		return 0;
	for (; allowance >= LITTLE / 4; allowance /= 2) {
		u64 size = 4 * allowance;
		long p = ht_sys6(__NR_mmap, 0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p >= 0 || p <= -4096) {
			ht_sys2(__NR_munmap, p, size);
			return 0;
		}
	}
	return -1;
}

// Whether the array's mapping is this long already, because another thread was faster. The test distinguishes our own
// mapping from one that happens to follow it: an mremap from this length to one that reaches over META's far mapping
// fails with EFAULT if the mapping is shorter than this length, and with ENOMEM (EAGAIN if memory is locked) if it is
// not.
static int is_long(u8 *base, u64 length)
{
	long r = ht_sys4(__NR_mremap, base, length, (u64)(far[HT_SEG_META] - base) + arrays[HT_SEG_META].first, 0);
	return r == -12 || r == -11;
}

// Extends the mapping of an array as it was read: in place, or, if something follows it there, by a second mapping of
// the same pages. The old mapping then stays, because other threads may be using it. Returns the address, null if that
// cannot be had. The caller publishes it, or gives it back.
static u8 *lengthen(int type, u8 *base, u64 length, u64 longer)
{
	if (base == near[type] && far[type])
		base = far[type];
	if (base < far[HT_SEG_META]) {
		long r = ht_sys4(__NR_mremap, base, length, longer, 0);
		if (r == (long)base)
			__atomic_fetch_add(&taken, longer - length, __ATOMIC_RELAXED);
		if (r == (long)base || is_long(base, longer))
			return base;
	}
	long r = ht_sys4(__NR_mremap, base, 0, longer, MREMAP_MAYMOVE);
	if (r < 0 && r > -4096)
		return 0;
	ht_sys3(__NR_madvise, r, longer, MADV_DONTDUMP);
	__atomic_fetch_add(&taken, longer, __ATOMIC_RELAXED);
	return (u8 *)r;
}

// What lengthen has returned, if it is a mapping that nobody else has.
static void give_back(int type, u8 *base, struct ht_array old, u64 length)
{
	if (!base || base == old.base || base == far[type])
		return;
	ht_sys2(__NR_munmap, base, length);
	__atomic_fetch_sub(&taken, length, __ATOMIC_RELAXED);
}

// Other threads may change it in between: publish then fails.
static struct ht_array read_array(struct ht_array *a)
{
	u8 *base = ht_load_acquire(&a->base);
	u32 pages = ht_load_acquire(&a->pages);
	return (struct ht_array){base, ht_load_acquire(&a->mapped), pages};
}

// Changes an array from `old` to `new`, unless another thread has changed it since; `length` is that of the mapping at
// new's base. A thread that was slow must not put back a mapping that is shorter than what others use.
static int publish(int type, struct ht_array old, struct ht_array new, u64 length)
{
	struct ht_array before = old;
	if (ht_swap_two(&ht_arrays[type], &old, &new))
		return 1;
	give_back(type, new.base, before, length);
	return 0;
}

// If there was no memory, there will hardly be any for the next event, so attempts are RETRY ticks of the clock apart.
#define RETRY (1ull << 28)
static u64 refused[HT_SEG_TYPES]; // clock at the last failure, 0 if there was none

int ht_array_reach(int type, u64 index)
{
	const struct array *a = &arrays[type];
	struct ht_array *array = &ht_arrays[type];
	for (;;) {
		struct ht_array now = read_array(array), next = now;
		u64 length = now.mapped * a->element, longer = next_length(type, length);
		if (index < now.mapped)
			return 0;
		if (longer > most(type))
			return -1;
		if (ht_unlikely(ht_local.stopped)) // no event of this thread needs it
			return -1;
		u64 before = ht_load(&refused[type]);
		if (before && ht_clock() - before < RETRY)
			return -1;
		// The first segment is mapped from the start. Chunks get their pages one by one, see chunks.c.
		u64 ahead = now.pages * 4096ull, there = ahead > length ? ahead : length;
		if (length && longer > there)
			next.base = has_space(longer - there) ? lengthen(type, now.base, there, longer) : 0;
		if (!next.base || (type != HT_SEG_CHUNKS && ht_provide(next.base + length, longer - length) < 0)) {
			give_back(type, next.base, now, longer);
			ht_store(&refused[type], ht_clock());
			return -1;
		}
		u32 n = segment_of(type, length);
		ht_store_release(&ht_header->segments[type][n], array_place[type] + (n ? a->first << (n - 1) : 0));
		next.mapped = (u32)(longer / a->element);
		publish(type, now, next, longer);
	}
}

void ht_spool_open_ahead(int some)
{
	static const u64 share[HT_SEG_TYPES] = {
		[HT_SEG_PROCS] = 1u << 20,  [HT_SEG_STREAMS] = 2u << 20, [HT_SEG_CHUNKS] = 32u << 20,
		[HT_SEG_PCS] = 16u << 20,   [HT_SEG_NODES] = 64u << 20,	 [HT_SEG_MODULES] = 4u << 20,
		[HT_SEG_COUNTS] = 8u << 20, [HT_SEG_NAMES] = 1u << 20,
	};
	for (int type = 2; type < HT_SEG_TYPES; type++) {
		u64 size = most(type);
		if (size > arrays[type].limited)
			size = arrays[type].limited;
		if ((some || !has_space(size)) && size > share[type])
			size = share[type];
		for (;;) {
			struct ht_array now = read_array(&ht_arrays[type]), next = now;
			u64 have = now.mapped * arrays[type].element;
			if (have < now.pages * 4096ull)
				have = now.pages * 4096ull;
			if (!have || size <= have || !has_space(size - have))
				break;
			next.base = lengthen(type, now.base, have, size);
			next.pages = (u32)(size / 4096);
			if (!next.base || publish(type, now, next, size))
				break;
		}
	}
}

void ht_spool_fill_ahead(void)
{
	const u64 chunks = 128;
	if (ht_array_reach(HT_SEG_CHUNKS, chunks - 1) == 0 && ht_provide(ht_chunks, chunks * HT_CHUNK_SIZE) == 0)
		ht_store(&filled, chunks * HT_CHUNK_SIZE);
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

// A folder that another user has put in place of the run's does not have our files' owner.
static long create_below(const char *run, const char *name)
{
	struct stat folder, file;
	long fd, dir = ht_sys4(__NR_openat, AT_FDCWD, run, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (dir < 0)
		return dir;
	fd = ht_sys4(__NR_openat, dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -24 /* EMFILE */) { // there is only one free descriptor
		ht_sys1(__NR_close, dir);
		fd = ht_sys4(__NR_openat, AT_FDCWD, spool_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600);
		if (fd >= 0 &&
		    (ht_sys4(__NR_newfstatat, AT_FDCWD, run, &folder, AT_SYMLINK_NOFOLLOW) < 0 ||
		     ht_sys2(__NR_fstat, fd, &file) < 0 || !S_ISDIR(folder.st_mode) || folder.st_uid != file.st_uid)) {
			ht_sys3(__NR_unlinkat, AT_FDCWD, spool_path, 0);
			ht_sys1(__NR_close, fd);
			fd = -1;
		}
		return fd;
	}
	if (fd >= 0 && (ht_sys2(__NR_fstat, dir, &folder) < 0 || ht_sys2(__NR_fstat, fd, &file) < 0 ||
			folder.st_uid != file.st_uid)) {
		ht_sys3(__NR_unlinkat, dir, name, 0);
		ht_sys1(__NR_close, fd);
		fd = -1;
	}
	ht_sys1(__NR_close, dir);
	return fd;
}

static void name_in_run(const char *run, u64 pid, char name[HT_SPOOL_NAME])
{
	name[0] = 0;
	ht_append_number(name, HT_SPOOL_NAME, pid, 10);
	ht_append(name, HT_SPOOL_NAME, "-");
	ht_append_number(name, HT_SPOOL_NAME, ht_clock(), 16);
	ht_append(name, HT_SPOOL_NAME, ".spool");
	spool_path[0] = 0;
	ht_append(spool_path, sizeof(spool_path), run);
	ht_append(spool_path, sizeof(spool_path), "/");
	ht_append(spool_path, sizeof(spool_path), name);
}

static long create_in_run(const char *run, u64 pid)
{
	char name[HT_SPOOL_NAME];
	name_in_run(run, pid, name);
	long fd = create_below(run, name);
	if (fd == -13 /* EACCES */ || fd == -2 /* ENOENT */) {
		fd = ht_admit(run, name);
		admitted = fd >= 0;
	}
	return fd;
}

// NAME.PID.spool, then NAME.PID.2.spool and so on: a process may exec the same program again.
static long create_alone(const char *folder, const char *exe, u64 pid)
{
	long fd = -1;
	for (u32 n = 1; n < 1000; n++) {
		spool_path[0] = 0;
		// The program may change its working directory later.
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

// After a change of the root or mount namespace, another folder may have that name. What is written there would not be
// found.
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
	struct stat st, it;
	long file = -1, fd;
	fd = admitted ? -1 : open_spill_folder(&st);
	if (fd < 0)
		return -1;
	if (st.st_dev == spill_folder_device && st.st_ino == spill_folder_inode)
		file = ht_sys4(__NR_openat, fd, spill_name,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	ht_sys1(__NR_close, fd);
	// Other users may write to the folder, and may have put a pipe or a file of their own there. A process that has
	// changed its user may have created the file, too; the recorder would not read what it writes. (Only system
	// calls that were made before: a filter may kill for another.)
	if (file >= 0 && (ht_sys2(__NR_fstat, file, &it) < 0 || !S_ISREG(it.st_mode) || it.st_nlink != 1 ||
			  (it.st_uid != spool_owner && (it.st_uid != st.st_uid || (st.st_mode & 022))))) {
		ht_sys1(__NR_close, file);
		file = -1;
	}
	return file;
}

// Leaves a mark for heaptap run, which reports it: an empty file with the spool's name, but ending in .aside, or
// another reason, instead of .spool.
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

// Without `heaptap run`, nothing else would report it.
static void complain(const char *what)
{
	char text[256] = "heaptap: ";
	ht_append(text, sizeof(text), what);
	ht_append(text, sizeof(text), "\n");
	ht_sys3(__NR_write, 2, text, ht_strlen(text));
}

static u8 *map_file(u8 *where, u64 length, long fd, u64 place, int flags)
{
	long p = ht_sys6(__NR_mmap, where, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, place);
	if (p < 0 && p > -4096)
		return 0;
	taken += flags ? 0 : length;
	return (u8 *)p;
}

// Maps the header and the beginnings of the arrays, one after the other.
static int map_near(long fd)
{
	u64 at = HT_HEADER_SIZE;
	near_length = HT_HEADER_SIZE;
	for (int type = 1; type < HT_SEG_TYPES; type++)
		near_length += arrays[type].first;
	u8 *start = map_file(0, near_length, fd, 0, 0);
	if (!start)
		return -1;
	ht_header = (struct ht_header *)start;
	for (int type = 1; type < HT_SEG_TYPES; at += arrays[type++].first) {
		near[type] = ht_arrays[type].base = start + at;
		if (at != array_place[type] &&
		    !map_file(start + at, arrays[type].first, fd, array_place[type], MAP_FIXED))
			return -1;
	}
	ht_sys3(__NR_madvise, start, near_length, MADV_DONTDUMP);
	return 0;
}

// Whether an array is likely to grow often; one that does all the same gets a new place each time. META never grows,
// but lies above all others, see is_long.
static int grows(int type)
{
	return type != HT_SEG_PROCS && type != HT_SEG_NAMES && (type != HT_SEG_COUNTS || counts_wanted);
}

// For when they grow, arrays are mapped far from where the kernel places the target's mappings, and far enough from
// each other. If the kernel does not grant an address, the array needs one more mapping later.
#define DISTANCE (256ull << 30)

static int map_arrays(long fd)
{
	u64 place = HT_HEADER_SIZE;
	for (int type = 1; type < HT_SEG_TYPES; place += most(type++))
		array_place[type] = place;
	if (map_near(fd) < 0)
		return -1;
	u64 here = (u64)ht_header & ~((1ull << 30) - 1);
	u64 at = here > 2 * DISTANCE ? here - DISTANCE : here + DISTANCE;
	for (int type = 1; type < HT_SEG_TYPES; type++) {
		if (type != HT_SEG_META)
			at -= (most(type) + (4ull << 20)) & ~((2ull << 20) - 1);
		if (!grows(type))
			continue;
		far[type] = map_file((u8 *)at, arrays[type].first, fd, array_place[type], 0);
		if (!far[type])
			return -1;
		ht_sys3(__NR_madvise, far[type], arrays[type].first, MADV_DONTDUMP);
	}
	return ht_provide((u8 *)ht_header, HT_HEADER_SIZE);
}

static void unmap_arrays(void)
{
	for (int type = 1; type < HT_SEG_TYPES; type++) {
		struct ht_array *a = &ht_arrays[type];
		u64 length = a->base == near[type] ? 0 : a->mapped * arrays[type].element;
		if (far[type])
			ht_sys2(__NR_munmap, far[type], length > arrays[type].first ? length : arrays[type].first);
		far[type] = 0;
		*a = (struct ht_array){0};
	}
	if (ht_header)
		ht_sys2(__NR_munmap, ht_header, near_length);
	ht_header = 0;
	taken = 0;
}

// Gives the file its maximum length, and maps the beginning of each array.
static int map_spool(long fd)
{
	if (find_allowance() < 0)
		return -1;
	for (size_shift = 0; size_shift <= 8; size_shift++) {
		spool_size = HT_HEADER_SIZE;
		for (int type = 1; type < HT_SEG_TYPES; type++)
			spool_size += most(type);
		if (ht_size_allowed(spool_size) && ht_sys2(__NR_ftruncate, fd, spool_size) == 0)
			return map_arrays(fd);
	}
	return -1;
}

// Returns the length of what /proc/self/cmdline has; what does not fit is cut off.
static long read_cmdline(char *out, u64 size)
{
	long fd = ht_sys4(__NR_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : ht_sys3(__NR_read, fd, out, size);
	if (fd >= 0)
		ht_sys1(__NR_close, fd);
	if (n <= 0) {
		char name[16] = "";
		ht_sys5(__NR_prctl, 16 /* PR_GET_NAME */, name, 0, 0, 0);
		out[0] = 0;
		n = (long)ht_append(out, 64, name) + 1;
	}
	out[n - 1] = 0;
	return n;
}

// Most processes need one page for it. `text` begins with the executable's name and has room for what follows that in
// the segment.
static int write_meta(char *text)
{
	const u64 most = arrays[HT_SEG_META].first;
	struct ht_meta *meta = (struct ht_meta *)ht_arrays[HT_SEG_META].base, sizes = {0};
	char *end = text;
	struct {
		char field[6][65];
	} uts;
	u64 used, length = 4096;

	if (ht_sys1(__NR_uname, &uts) < 0)
		uts.field[1][0] = 0;
	end += sizes.exe_size = (u32)ht_strlen(text) + 1;
	end += sizes.cmdline_size = (u32)read_cmdline(end, CMDLINE_MAX);
	*end = 0;
	long n = ht_sys2(__NR_getcwd, end, PATH_MAX_HERE);
	end += sizes.cwd_size = n > 0 ? (u32)n : 1;
	*end = 0;
	end += sizes.host_size = (u32)ht_append(end, sizeof(uts.field[1]), uts.field[1]) + 1;
	used = sizeof(*meta) + (u64)(end - text);
	sizes.env_size = (u32)ht_environ_copy(0, most - used);
	while (length < used + sizes.env_size)
		length *= 2;
	if (ht_provide((u8 *)meta, length) < 0)
		return -1;
	ht_header->segment_first[HT_SEG_META] = length;
	ht_store_release(&ht_header->segments[HT_SEG_META][0], array_place[HT_SEG_META]);
	__builtin_memcpy(meta + 1, text, (u64)(end - text));
	ht_environ_copy((char *)(meta + 1) + (end - text), most - used);
	*meta = sizes;
	meta->sum = (u32)ht_sum(meta + 1, length - sizeof(*meta), ht_sum(meta, 16, meta->env_size)) | 1;
	return 0;
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
	for (int type = 1; type < HT_SEG_TYPES; type++) {
		h->segment_first[type] = arrays[type].first;
		h->places[type] = array_place[type];
	}
	// MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: lets the recorder order our stores from its side, at no cost to us.
	h->barrier = ht_sys3(__NR_membarrier, 1 << 2, 0, 0) == 0;
}

void ht_spool_unmade(const char *reason, const char *text)
{
	const char *run = ht_environ_get("HEAPTAP_RUN");
	char name[HT_SPOOL_NAME];
	in_run = run != 0;
	if (run)
		name_in_run(run, (u64)ht_sys0(__NR_getpid), name);
	else
		complain(text);
	leave_mark(reason);
}

int ht_spool_init(void)
{
	static const u8 first_types[] = {HT_SEG_PROCS, HT_SEG_STREAMS, HT_SEG_CHUNKS,
					 HT_SEG_PCS,   HT_SEG_NODES,   HT_SEG_MODULES};
	static char exe[2 * PATH_MAX_HERE + CMDLINE_MAX + HOST_MAX] HT_LARGE;
	const char *run = ht_environ_get("HEAPTAP_RUN"), *folder = ht_environ_get("HEAPTAP_DIR");
	u64 pid = (u64)ht_sys0(__NR_getpid);
	long n = ht_sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", exe, PATH_MAX_HERE - 1);
	exe[n > 0 ? n : 0] = 0;

	long fd = run ? create_in_run(run, pid) : create_alone(folder ? folder : ".", *exe ? exe : "program", pid);
	in_run = run != 0;
	spool_owner = (u32)ht_auxv(12 /* AT_EUID */);
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
	if (write_meta(exe) < 0)
		goto fail;
	return 0;

fail:
	ht_spool_drop();
	if (!run)
		complain("not enough disk space or address space for the spool" NOT_RECORDED);
	return -1;
}

void ht_spool_drop(void)
{
	unmap_arrays();
	ht_sys3(__NR_unlinkat, AT_FDCWD, spool_path, 0);
	leave_mark(ht_filtered ? "seccomp" : "aside");
}

void ht_spool_publish(void)
{
	ht_header->sum = ht_sum_header(ht_header);
	ht_store_release(&ht_header->magic, HT_SPOOL_MAGIC);
}
