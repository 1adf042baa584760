// SPDX-License-Identifier: Apache-2.0
//
// wire.h: everything that the agent and the recorder share, bit by bit.
//
// A spool is one file, mapped MAP_SHARED by every process of one executed image (the image itself and the children that
// it forks without exec). It starts with struct ht_header. Segments follow, in the order in which they were added; the
// header's table says where each one is. The segments of one type form one array.
//
// Data that does not fit into the pool, because no recorder makes progress, is appended to a second file: whole chunks,
// each its struct ht_chunk followed by `fill - HT_CHUNK_HEADER` bytes of records. It has the spool's name, with .spill
// instead of .spool, and lies beside it or in HEAPTAP_SPILL_DIR. A chunk that cannot be written there either is lost,
// and its events are counted in ht_stream.lost and HT_C_LOST. The last chunk in the file may be cut short.
//
// Complete parts have a checksum (sum.h), which reveals damage; 0 means that there is none yet.
//
// Everything is little-endian, fixed-width and naturally aligned. The Go mirror is internal/wire; a test there compiles
// this header and compares every size, offset and constant. Any change here changes HT_WIRE_VERSION.
#ifndef HT_WIRE_H
#define HT_WIRE_H

#include <stdint.h>

#define HT_WIRE_VERSION 5
#define HT_SPOOL_MAGIC 0x314c4f4f50535448ull // "HTSPOOL1"
#define HT_CHUNK_MAGIC 0x4b484354u // "TCHK"
#define HT_NONE 0xffffffffu // no index

// ---------------------------------------------------------------------------------------------------------------------
// Records
//
// A record is two or three 64-bit words. Word 0: bits 0-47 address, 48-55 kind, 56-63 slack. The two top bits of the
// kind are its class, and the class gives the length:
//
//   class 0  stack   24 bytes  word1 = size (low 32 bits) | stack id << 32, word2 = timestamp
//   class 1  short   16 bytes  word1 = timestamp
//   class 2  extra   16 bytes  word1 = a value that belongs to the next class 0 or 1 record; no timestamp
//   class 3  note    16 bytes  word1 = timestamp; not an allocation, see enum ht_kind
//
// Extra records come before the record that they extend and are published together with it.
//
// Slack is usable minus requested size in bytes; HT_SLACK_EXTRA says that the usable size follows in HT_X_USABLE, or,
// if there is no such record, that it is unknown. A size of 2^32-1 or more is HT_SIZE_EXTRA, and the size is in
// HT_X_SIZE.
//
// An allocation that failed has address 0. A deallocation is published before the real function runs, an allocation
// after it returned. A realloc of a block is HT_K_REALLOC_BEGIN (the old address) before, and HT_K_REALLOC (the new
// address, or 0) after; begin and result nest like brackets within a stream. realloc(NULL, n) has no begin. A result of
// 0 after a begin means: if size > 0, the realloc failed and the block stays live; if size == 0, the block was freed.
// The same for reallocarray.
#define HT_ADDR_BITS 48
#define HT_ADDR_MASK 0xffffffffffffull
#define HT_KIND_SHIFT 48
#define HT_SLACK_SHIFT 56
#define HT_SLACK_EXTRA 255
#define HT_SIZE_EXTRA 0xffffffffu
#define HT_CLASS_SHIFT 6
#define HT_CLASS_STACK 0
#define HT_CLASS_SHORT 1
#define HT_CLASS_EXTRA 2
#define HT_CLASS_NOTE 3
#define HT_RECORD_MAX 128 // an event with all its extras is never longer

enum ht_kind {
	// class 0: allocations
	HT_K_MALLOC = 1,
	HT_K_CALLOC = 2, // HT_X_COUNT: the first argument, when neither argument is 1
	HT_K_REALLOC = 3, // the result
	HT_K_REALLOCARRAY = 4, // the result; HT_X_COUNT: nmemb
	HT_K_POSIX_MEMALIGN = 5, // HT_X_ALIGN, as with all aligned forms
	HT_K_ALIGNED_ALLOC = 6,
	HT_K_MEMALIGN = 7,
	HT_K_VALLOC = 8,
	HT_K_PVALLOC = 9,
	HT_K_NEW = 10,
	HT_K_NEW_ARRAY = 11,
	HT_K_NEW_NOTHROW = 12,
	HT_K_NEW_ARRAY_NOTHROW = 13,
	HT_K_NEW_ALIGNED = 14,
	HT_K_NEW_ARRAY_ALIGNED = 15,
	HT_K_NEW_ALIGNED_NOTHROW = 16,
	HT_K_NEW_ARRAY_ALIGNED_NOTHROW = 17,
	// class 0: allocations of a pool, as the program reports them (HT_X_POOL): not the real allocator's. A move is
	// like a realloc: its begin, and then its result. The leaf of their call stacks is the pool's name, see
	// HT_PC_POOL
	HT_K_POOL_ALLOC = 18,
	HT_K_POOL_MOVE = 19,
	// class 0: deallocations with their own stack (size 0; only with --free-stacks): HT_K_FREE & 63 | 32 and so on
	HT_K_STACKED = 32, // kind = HT_K_STACKED | (short kind & 31)
	// class 0: mapping changes; the address is the result, 0 if failed; not allocations
	HT_K_MMAP = 24,
	HT_K_MUNMAP = 25, // address and size of the range
	HT_K_MREMAP = 26, // the result; HT_X_OLD and HT_X_OLD_SIZE give the old range
	HT_K_BRK = 27, // address = the new break; HT_X_OLD = the break before
	// class 0: the thread's stack has become deeper than ever before: address = the stack pointer, size = bytes in
	// use above it, the stack is that of the call that was made there
	HT_K_STACK = 28,

	// class 1: deallocations; the address is the argument
	HT_K_FREE = 64 + 1,
	HT_K_REALLOC_BEGIN = 64 + 2,
	HT_K_CFREE = 64 + 3,
	HT_K_FREE_SIZED = 64 + 4,
	HT_K_FREE_ALIGNED_SIZED = 64 + 5,
	HT_K_DELETE = 64 + 6,
	HT_K_DELETE_ARRAY = 64 + 7,
	HT_K_DELETE_SIZED = 64 + 8,
	HT_K_DELETE_ARRAY_SIZED = 64 + 9,
	HT_K_DELETE_NOTHROW = 64 + 10,
	HT_K_DELETE_ARRAY_NOTHROW = 64 + 11,
	HT_K_DELETE_ALIGNED = 64 + 12,
	HT_K_DELETE_ARRAY_ALIGNED = 64 + 13,
	HT_K_DELETE_SIZED_ALIGNED = 64 + 14,
	HT_K_DELETE_ARRAY_SIZED_ALIGNED = 64 + 15,
	HT_K_DELETE_ALIGNED_NOTHROW = 64 + 16,
	HT_K_DELETE_ARRAY_ALIGNED_NOTHROW = 64 + 17,
	// class 1: of a pool (HT_X_POOL)
	HT_K_POOL_FREE = 64 + 18,
	HT_K_POOL_MOVE_BEGIN = 64 + 19,
	HT_K_POOL_BACKING = 64 + 20, // HT_X_OLD_SIZE bytes from the address on are the pool's backing from now on
	HT_K_POOL_CLEAR = 64 + 21, // all blocks in it have ended; the address is 0
	HT_K_POOL_DESTROY = 64 + 22, // likewise, and the pool itself

	// class 3: notes; the low 48 bits of word 0 are a value
	HT_K_MARK = 192 + 1, // a moment with a name: the name id
	HT_K_REGION_BEGIN = 192 + 2, // the thread enters the region with that name id; up to four HT_X_ID come before
	HT_K_REGION_END = 192 + 3, // the thread leaves the innermost region with that name id
	HT_K_THREAD_NAME = 192 + 4, // the thread's name from now on: name id
	HT_K_RANGE_NAME = 192 + 5, // the name of the HT_X_OLD_SIZE bytes from HT_X_OLD on, from now on: name id

	// class 2: extras; the low 48 bits of word 0 are 0
	HT_X_SIZE = 128 + 1,
	HT_X_USABLE = 128 + 2,
	HT_X_ALIGN = 128 + 3,
	HT_X_COUNT = 128 + 4,
	HT_X_OLD = 128 + 5,
	HT_X_OLD_SIZE = 128 + 6,
	HT_X_SAMPLED = 128 + 7, // this allocation was chosen at random; the value says how, see HT_SAMPLED_CALLS
	HT_X_ID = 128 + 8, // a number that distinguishes regions with the same name; repeated, in order
	HT_X_POOL = 128 + 9, // which pool: number << 32 | pc id of its name, see HT_PC_POOL. Before
	// an allocation of another kind: the block is backing of that pool, and not counted
};

// Sampling, as in HT_X_SAMPLED and ht_header.sample: the mean number of bytes from one sample to the next, an
// exponential distribution, so that an allocation of n bytes is chosen with probability 1 - exp(-max(n, 1) / mean); or,
// with this bit, the mean number of calls from one sample to the next, a geometric distribution.
#define HT_SAMPLED_CALLS (1ull << 63)

// ---------------------------------------------------------------------------------------------------------------------
// Chunks
//
// A stream (one thread's records, in its own order) is a sequence of chunks numbered from 0. The writer appends to the
// current chunk and then advances ht_stream.pos. To move on it stores the chunk's fill, takes a new chunk, prepares its
// header, stores `next` in the old one, then pos. A chunk that was appended to the spill file by its writer is reused
// in place: its seq has moved on, and a reader that expected a smaller one finds that chunk in the spill file. A reader
// copies first and checks seq after.
#define HT_CHUNK_SIZE 65536
#define HT_CHUNK_HEADER 64

struct ht_chunk {
	uint32_t magic; // HT_CHUNK_MAGIC
	uint32_t stream; // index of the stream's slot
	uint64_t uid; // the stream's unique number: slots are reused, uids are not
	uint64_t seq; // number of this chunk in its stream
	uint32_t fill; // bytes used, header included; valid once the stream has moved on
	uint32_t next; // index of the stream's next chunk, or HT_NONE
	uint32_t tid; // copies of the stream's fields, so that a spilled chunk is self-contained
	uint32_t proc;
	uint32_t level;
	uint32_t there; // bytes of it that are known to have memory; 0: it was never used
	uint64_t start; // the stream's start timestamp
	uint64_t seal; // number of its bytes, header included, that the checksum in the rest of the word covers
};
#define HT_SEAL_FILL 0x1ffffu

// ---------------------------------------------------------------------------------------------------------------------
// Streams
//
// busy is nonzero from before an event's timestamp is read until its record is published. If a reader reads the clock,
// executes a membarrier that covers the writer, and then finds busy == 0, every record that it does not see yet will
// have a later timestamp than that clock reading. (Without the barrier this is false.)
//
// The recorder stores HT_BUSY_CONTROL in busy instead of 0 when ht_header.control has changed: the next event checks
// the control, and stores 0. The value may be overwritten at any time; the recorder stores it again until ht_proc.mode
// shows that a thread of the process has seen the change. It means the same as 0.
//
// A thread has one stream per level: level 0 is normal; a signal handler that interrupts the agent itself writes to
// level 1 and on. All streams of a thread have the same tid.
#define HT_BUSY_CONTROL 1
#define HT_STREAM_FREE 0
#define HT_STREAM_LIVE 0x4556494c // no state is a few bits from another one, or from 0
#define HT_STREAM_ENDED \
	0x454e4f44 // no more records; the reader drains it, frees its last chunk, pushes the slot on free_streams

#define HT_POS_SHIFT 24 // pos = chunk sequence number << 24 | bytes used in that chunk, header included

struct ht_stream {
	// written by the owner for every event
	uint64_t pos;
	uint64_t busy; // 0, or the stack pointer of the hook that is recording, or HT_BUSY_CONTROL
	uint64_t lost; // events of this stream that were not recorded
	uint64_t stack_low, stack_high; // the thread's own stack as far as it is known; 0: not yet
	uint64_t sum; // sum of the fields that do not change while the stream is live
	uint64_t end; // when the thread began to end, or was found to be gone; 0: it has not, or nobody knows
	uint64_t reserved0;
	// written rarely
	uint64_t uid;
	uint64_t start; // timestamp of its first event
	uint32_t state;
	uint32_t proc; // slot of the process
	uint32_t tid;
	uint32_t level;
	uint32_t first_chunk; // the chunk with seq 0
	uint32_t chunk; // the current chunk
	uint32_t next_free; // link of the free list
	uint32_t counts; // 1 + index of its struct ht_counts; 0: none
	char name[16]; // the thread's name at its first event, NUL-padded
};

// ---------------------------------------------------------------------------------------------------------------------
// Processes: slot 0 is the image that made the spool; forked children claim further ones at their first event.
#define HT_PROC_FREE 0
#define HT_PROC_LIVE 0x434f5250

struct ht_proc {
	uint32_t state; // stored last
	uint32_t pid;
	uint32_t parent; // slot of the process it was forked from, or HT_NONE
	uint32_t partial; // 1: not every allocation was recorded: a deallocation of an unknown block is not an error
	uint64_t fork_time; // timestamp of its first event, 0 for slot 0
	uint64_t random; // address of the AT_RANDOM bytes: differs from /proc/PID/auxv's once the process has exec'd
	uint32_t mode; // the ht_header.control that the process follows
	uint32_t parent_pid; // of the process that had started it when it began; 0: not known
	uint64_t sum; // of pid, parent, fork_time and random
	uint64_t ended; // HT_ENDED | its exit status, when it called exit or _exit; 0: it has not, or that was not seen
	uint64_t resident; // its largest resident set in bytes, as of its end; 0: not known
};
#define HT_ENDED (1ull << 32)

// ---------------------------------------------------------------------------------------------------------------------
// Modes
//
// What is recorded of a process. It begins with the environment's settings (HEAPTAP_MODE, HEAPTAP_START ...), which the
// agent stores in ht_header.control. The recorder, or the program itself, may change that at any time.
#define HT_MODE_EXACT 1 // every event with its call stack
#define HT_MODE_SAMPLED 2 // allocations chosen at random, and the deallocations of blocks that may have been recorded
#define HT_MODE_COUNT 3 // struct ht_counts only
#define HT_MODE_OFF 4 // no new allocations; deallocations of blocks that may have been recorded
#define HT_MODE_MASK 255u // the other bits of ht_header.control are a number that grows with each change

// What a thread has done, counted rather than recorded: in count mode everything, with --time-calls the duration of its
// calls. Rows are wire kinds: 0-31 those of allocations, 32-63 HT_K_STACKED | kind & 31 of deallocations. Slot 0 of the
// array has the sums of ended threads, of all processes, whose slots were reused.
#define HT_SIZE_CLASSES 48 // class 0: 0 bytes; class i: 2^(i-1) to 2^i - 1 bytes; the last one: all larger ones, too
#define HT_TIME_CLASSES 32 // class i: 2^i to 2^(i+1) - 1 ticks; the last one: all larger ones, too
struct ht_counts_row {
	uint64_t calls; // that succeeded
	uint64_t failed;
	uint64_t bytes; // requested
	uint64_t usable; // of allocations and of deallocations
	uint64_t ticks; // inside of the real function, of the calls that were timed
	uint64_t timed;
	uint32_t sizes[HT_SIZE_CLASSES]; // calls by requested size
	uint32_t times[HT_TIME_CLASSES]; // timed calls
};
struct ht_counts {
	uint64_t uid; // of the stream; 0: of several
	uint32_t proc, tid;
	char name[16];
	struct ht_counts_row rows[64];
	uint64_t reserved[1148]; // makes the size a power of two, so that segments hold whole structs
};

// ---------------------------------------------------------------------------------------------------------------------
// Program counters, call stacks, modules
//
// A pc id is a return address *of one module at one time*: if a library is unloaded and another one is loaded at its
// address, the ids differ. pc has HT_PC_INTERRUPTED set if the frame was interrupted by a signal, so that the
// instruction is at pc; otherwise it is a return address, and the call is at pc - 1. Ids start at 1.
#define HT_PC_INTERRUPTED (1ull << 63)
// Instead of a return address, with module 0: "smaller than --stack-min". The only frame of the stack that all these
// allocations share.
#define HT_PC_SMALL 1
// Instead of a return address, with module 0: HT_PC_POOL | name id, the frame that represents a pool.
#define HT_PC_POOL (1ull << 62)

struct ht_pc {
	uint64_t pc; // stored last (release); 0: not published
	uint32_t module; // id, 0 if the address belongs to no known module
	uint32_t sum;
};

// A stack id names a node of the calling-context tree: `pc` called from the stack `parent`. Ids start at 1; 0 stands
// for no stack, and a root's parent is 0. Two nodes may stand for the same stack: a reader merges by (parent, pc).
// HT_NODE_TRUNCATED: the unwinder could not continue beyond this root node, although the stack had not ended.
#define HT_NODE_TRUNCATED 0x80000000u

struct ht_node {
	uint64_t hash; // of the path, see ht_cct_hash
	uint32_t parent; // node id
	uint32_t pc; // pc id | HT_NODE_TRUNCATED; stored last (release); 0: not published
};

// The module log is a byte array of these, each followed by its build id and its NUL-terminated path, padded to 8
// bytes.
#define HT_MODULE_LOAD 1
#define HT_MODULE_UNLOAD 2 // only kind, id, proc and time are set; no build id, no path
// Not a module of the table: a file whose allocations bypass the agent. The id says why, HT_APART_...; of the other
// fields, only proc, time and path are set.
#define HT_MODULE_APART 3
#define HT_APART_MALLOC 1 // the executable exports a malloc of its own; no path
#define HT_APART_DEEPBIND 2 // opened with RTLD_DEEPBIND, with that name
#define HT_APART_NAMESPACE 3 // opened by dlmopen, with that name

struct ht_module {
	uint32_t length; // of the whole entry, a multiple of 8; stored last (release); 0: not published
	uint32_t kind;
	uint32_t id; // starts at 1
	uint32_t proc;
	uint64_t time; // timestamp
	uint64_t start; // lowest mapped address
	uint64_t end;
	uint64_t bias; // address = bias + address in the file's own terms (l_addr)
	uint32_t build_id_size;
	uint32_t path_size; // with the NUL
	uint64_t sum;
};

// ---------------------------------------------------------------------------------------------------------------------
// Header
enum ht_seg_type {
	HT_SEG_NONE = 0,
	HT_SEG_META = 1, // bytes: struct ht_meta and its strings
	HT_SEG_PROCS = 2, // struct ht_proc[]
	HT_SEG_STREAMS = 3, // struct ht_stream[]
	HT_SEG_CHUNKS = 4, // chunks of HT_CHUNK_SIZE
	HT_SEG_PCS = 5, // struct ht_pc[]
	HT_SEG_NODES = 6, // struct ht_node[]
	HT_SEG_MODULES = 7, // bytes
	HT_SEG_COUNTS = 8, // struct ht_counts[]
	HT_SEG_NAMES = 9, // bytes: struct ht_name, each followed by its text
	HT_SEG_TYPES = 10
};

// The names of marks, regions and threads: a log like that of the modules. Ids start at 1; equal texts may have several
// ids.
struct ht_name {
	uint32_t length; // of the whole entry, a multiple of 8; stored last (release); 0: not published
	uint32_t id;
	uint32_t size; // of the text that follows, without a NUL
	uint32_t next; // used by the agent only
	uint32_t sum;
	uint32_t reserved;
};

// Segment n of an array holds, in bytes, segment_first[type] for n == 0 and segment_first[type] << (n - 1) after that,
// so that n + 1 segments hold segment_first[type] << n. The file is sparse, and as long as all arrays may ever become.
// A segment's place is published when its first part is populated. Nothing refers to elements that have no memory yet.
#define HT_SEGMENTS 28

// A list head for a lock-free stack: index of the first element, or HT_NONE, in the low half; a counter that makes
// every state unique (ABA) in the high half.
#define HT_LIST_EMPTY ((uint64_t)HT_NONE)

struct ht_meta {
	uint32_t exe_size; // strings follow in this order, each NUL-terminated, sizes with the NUL
	uint32_t cmdline_size; // as /proc/self/cmdline: arguments separated by NULs
	uint32_t cwd_size;
	uint32_t host_size;
	uint32_t env_size; // NAME=VALUE, NUL-separated; only names on the agent's short list
	uint32_t sum; // of the whole segment behind this structure, and of these sizes
};

// Why events were not recorded, or not completely: counted, never fatal.
enum ht_counter {
	HT_C_LOST = 0, // events not recorded
	HT_C_TRUNCATED = 1, // stacks whose root is missing
	HT_C_BAD_CFI = 2, // frames whose call frame information could not be used
	HT_C_GUESSED = 3, // frames stepped by frame pointer for want of call frame information
	HT_C_TABLE_FULL = 4, // stacks not stored because a table could not grow
	HT_C_NO_THREAD = 5, // events lost because a thread's state could not be made
	HT_C_SPILLED = 6, // chunks that the agent appended to the spill file itself
	HT_C_WAITS = 7, // times that a thread waited for a free chunk
	HT_C_FULL_STEPS = 8, // stacks unwound with all registers (slow, exact)
	HT_C_BOOT = 9, // allocations served by the agent before the real functions were known
	// The agent's own share of a thread's time: ticks of the events that were timed, and their number.
	HT_C_ALLOC_TICKS = 10,
	HT_C_ALLOC_TIMED = 11,
	HT_C_FREE_TICKS = 12,
	HT_C_FREE_TIMED = 13,
	HT_C_FORBIDDEN = 14, // system calls that the agent did not make, because a seccomp filter forbids them
	HT_C_STOPPED = 15, // of HT_C_LOST: by threads that may not read the clock (SECCOMP_MODE_STRICT, PR_SET_TSC)
	HT_COUNTERS = 16
};

#define HT_RECORDER_NONE 0 // no recorder (plain LD_PRELOAD)
#define HT_RECORDER_EXPECTED 1 // started by `heaptap run`; it may not have attached yet
#define HT_RECORDER_HERE 2

#define HT_HEADER_SIZE 4096

struct ht_header {
	uint64_t magic; // stored last, when the spool is usable
	uint32_t version;
	uint32_t arch; // ELF e_machine: 62 x86-64, 183 aarch64
	uint32_t pid;
	uint32_t page_size;
	uint64_t tsc0, mono0,
		real0; // the same moment on three clocks: timestamp counter, CLOCK_MONOTONIC ns, CLOCK_REALTIME ns
	uint64_t tsc1, mono1; // a later moment, updated now and then, to derive the counter's frequency
	uint64_t spill_limit; // bytes the agent may append to the spill file
	uint64_t sample; // how sampled mode chooses, see HT_SAMPLED_CALLS
	uint64_t stack_min; // smaller allocations have the stack HT_PC_SMALL (--stack-min); 0: none has
	uint64_t reserved0[3];

	// changed by the agent
	uint64_t file_end; // end of the last possible segment
	uint64_t spill_size;
	uint64_t next_uid;
	uint32_t next_proc, next_stream, next_chunk; // elements ever used
	uint32_t next_module;
	uint32_t next_pc, next_node;
	uint64_t module_bytes;
	uint32_t chunk_waiters; // threads that wait on chunk_freed
	uint32_t barrier; // 1: registered for membarrier GLOBAL_EXPEDITED
	uint32_t next_counts, next_name;
	uint64_t name_bytes;
	uint64_t awaited[2]; // allocations that HEAPTAP_START_AFTER and HEAPTAP_STOP_AFTER have counted so far
	uint64_t next_pool; // pools ever created
	uint64_t hidden; // programs that were executed where the agent's library is not visible
	uint64_t static_programs; // programs that were executed and are statically linked: they run unrecorded
	uint64_t reserved1;

	// changed by both
	uint64_t free_chunks; // list heads
	uint64_t free_streams;
	uint32_t free_chunk_count; // about
	uint32_t chunk_freed; // futex: the recorder adds one when it has freed chunks
	uint32_t recorder_wake; // futex: the agent adds one when chunks run short, or a process or thread begins
	uint32_t control; // mode | number << 8, see HT_MODE_MASK; changed by compare-and-swap
	uint64_t reserved3[4];

	// changed by the recorder
	uint32_t recorder_state;
	uint32_t recorder_pid;
	uint64_t heartbeat; // grows while the recorder drains
	uint32_t recorder_sleeps; // 1: it waits on recorder_wake
	uint32_t reserved4;
	uint64_t reserved5[5];

	uint64_t counters[HT_COUNTERS];
	uint64_t segment_first[HT_SEG_TYPES]; // bytes of the first segment of each type
	uint64_t segments[HT_SEG_TYPES][HT_SEGMENTS]; // offset in the file, a multiple of the page size; 0: not there
	// offset of the first segment of each type, existing or future; the others follow it
	uint64_t places[HT_SEG_TYPES];
	uint64_t sum; // sum of the fields that do not change, those in ht_sum_header
};

#define HT_STATIC(name, test) typedef char ht_static_##name[(test) ? 1 : -1]
HT_STATIC(chunk, sizeof(struct ht_chunk) == HT_CHUNK_HEADER);
HT_STATIC(stream, sizeof(struct ht_stream) == 128);
HT_STATIC(proc, sizeof(struct ht_proc) == 64);
HT_STATIC(pc, sizeof(struct ht_pc) == 16);
HT_STATIC(node, sizeof(struct ht_node) == 16);
HT_STATIC(module, sizeof(struct ht_module) == 64);
HT_STATIC(counts_row, sizeof(struct ht_counts_row) == 368);
HT_STATIC(counts, sizeof(struct ht_counts) == 32768);
HT_STATIC(name, sizeof(struct ht_name) == 24);
HT_STATIC(header, sizeof(struct ht_header) <= HT_HEADER_SIZE);

#endif
