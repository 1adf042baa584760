// SPDX-License-Identifier: Apache-2.0
//
// plan.h: the plan that heaptap replay writes and the player plays, and the result that the player hands back.
// internal/replay/plan.go writes the same layout.
//
// A plan has a stream of operations for each thread. A live block is in a slot of one table. A slot belongs to the
// thread that allocates into it; slots are used again, so that the table is as large as the most blocks that are live
// at once. An entry is the block's address, and in its upper 16 bits how often the slot was filled. That is all the
// synchronization that a block handed to another thread needs: who frees it waits until the slot has been filled that
// often, and who fills the slot again waits until it is empty. Every operation waits only for earlier ones of the
// recorded order, so there is no deadlock.
//
// The player believes nothing of a plan: what is wrong in it ends the player with STATUS_BAD_PLAN.
#ifndef HEAPTAP_PLAN_H
#define HEAPTAP_PLAN_H

#include <stdint.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define PLAN_MAGIC 0x35304e414c505448ull // "HTPLAN05"

struct plan_head {
	u64 magic;
	u64 size; // of the file
	u64 threads_at; // where the table of threads is, and that of epochs
	u64 epochs_at;
	u32 threads; // the first one is the main thread
	u32 slots;
	u32 epochs; // parts of the recorded order
	u32 window; // a thread enters an epoch when all but this many before it have ended; 0: it does not wait
	u32 chunks; // of pools
	u32 timed_window; // the same while time is measured
};

struct plan_thread {
	u64 first; // where its first chunk is; 0: it has no operations
	u32 tid; // as recorded
	u32 stays; // 1: after its last operation it lives until OP_END names it, or to the end
};

// A chunk of operations, each of one to five words, and those that say what is touched.
#define PLAN_CHUNK 16384 // bytes, with the head

struct plan_chunk {
	u64 next; // where the thread's next chunk is; 0: none
	u32 words;
	u32 thread;
};

// The lower five bits of an operation's first word; the others are its argument, often a slot.
#define PLAN_OP_BITS 5
#define PLAN_OP_MASK 31

enum plan_op {
	OP_FREE, // slot
	OP_FREE_OF_OTHER, // slot; how often it was filled
	OP_MALLOC, // slot; size
	OP_CALLOC, // slot; size of an element, count
	OP_REALLOC, // slot; new slot, size
	OP_REALLOC_OF_OTHER, // slot; new slot, size, how often the old slot was filled
	OP_ALIGNED, // slot; size, log2 of the alignment | function << 8
	OP_WAIT_EMPTY, // slot: wait until its block was freed
	OP_LARGE, // upper 27 bits of the size in the next operation
	OP_EPOCH, // -; the epoch that the thread leaves, and the one it enters (NO_EPOCH: none)
	OP_TURN, // -; wait for this turn (the whole order is kept)
	OP_PASS, // the next turn begins
	OP_SPAWN, // thread: start it; in the stream of the thread that started it in the program
	OP_TIME, // -; wait until so many ns have passed: lower half, upper half
	OP_BEGIN, // -; wait until all epochs before this one have ended; what comes now is measured
	OP_POOL, // chunk of a pool, which is allocated when it is first needed; offset of a block in it, and its size
	// number of runs of pages that are to be touched, instead of all, of the block that the next operation
	// allocates; for each: its first page, counting from that of the block's first byte, and how many
	OP_TOUCH,
	OP_KEPT, // -; how many bytes are written to of a buffer that the thread keeps, instead of a block
	OP_END, // thread that stays: wait until it has played, end it, and wait until it is gone
	OPS,
};

#define NO_EPOCH 0xffffffffu
#define PLAN_SLOTS (1u << 27)
#define POOL_CHUNK (64u << 10) // bytes

enum plan_function { FUNCTION_MEMALIGN, FUNCTION_ALIGNED_ALLOC, FUNCTION_POSIX_MEMALIGN };

// Kinds of calls that are counted and timed apart.
enum call {
	CALL_MALLOC,
	CALL_CALLOC,
	CALL_REALLOC,
	CALL_ALIGNED,
	CALL_FREE,
	CALL_FREE_OF_OTHER,
	CALLS,
};

// Classes of sizes: up to 16, 64, 256, 1 KiB, 4 KiB, 32 KiB, 256 KiB, and larger.
#define SIZE_CLASSES 8
// Times in cycles: 16 buckets for each power of two.
#define BUCKETS 512

struct times {
	u64 sum;
	u64 most;
	u64 buckets[BUCKETS];
};

enum status {
	STATUS_NONE, // it was killed, or has crashed
	STATUS_DONE,
	STATUS_BAD_PLAN,
	STATUS_NULL, // the allocator returned null; detail is the size
	STATUS_ERROR, // detail is an errno; text says of what
};

struct result {
	u32 status;
	u32 threads; // that were started
	u64 detail;
	char text[128];
	char version[128]; // what the allocator says of itself
	char library[512]; // the file that malloc is in
	u64 progress; // epochs that have ended
	u64 begin_ns, end_ns; // monotonic
	u64 begin_tsc, end_tsc;
	u64 calls[CALLS];
	u64 cpu_ns; // of the playing threads
	u64 wait_ns; // they waited for one another so long
	u64 wait_cpu_ns; // and used so much processor time meanwhile
	u64 waits;
	u64 process_cpu_ns; // of the process, other threads included
	u64 minor_faults, major_faults;
	u64 rss_start, rss_end, rss_freed; // bytes: before, after, and after all was freed
	u64 pss_end;
	u64 rss_peak;
	u64 tables; // bytes of the player's own tables, which are resident
	u64 system_calls[512]; // by number
	struct times times[CALLS][SIZE_CLASSES];
	// The resident set in bytes at the end of each epoch, and sometimes its PSS. The file is as long as they need.
	struct {
		u64 rss, pss;
	} samples[];
};

#endif
