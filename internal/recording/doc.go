// Package recording is the .htap format: it writes recordings and reads them.
//
// A recording is one process's events (package event) and the tables that they refer to: threads, modules, addresses on
// call stacks (pcs), the calling-context tree (nodes), samples of the process's memory, the functions at the addresses
// (symbols), and statistics of all events. It is self-contained: a reader needs nothing of the machine on which it was
// made.
//
// A Writer appends blocks and never changes one. A crash or a full disk costs what was not yet written; a Reader opens
// what is whole and says what is not. Events come back exactly as the Writer got them, in the same order, with these
// exceptions: times are kept in units of 100 ns (Quantise), and addresses of blocks only if Options.Addresses asks for
// them. Two kinds of addresses are always kept: that of a mapping change, and that of a deallocation that matched
// nothing.
//
// Package timetravel answers questions about a moment of a recording, or about the time between two.
//
// This text specifies the format, version 1.0.
//
// # Conventions
//
// Fixed-width numbers (u16, u32, u64) are little-endian. A varint is an unsigned number of at most 64 bits in the form
// of encoding/binary: seven bits a byte, lowest first, the top bit set on all but the last byte. A zigzag is a signed
// number as the varint of (v << 1) ^ (v >> 63). Differences are taken modulo 2^64. Checksums are CRC-32C (Castagnoli).
// Text is a varint, its length in bytes, and the bytes.
//
// Times are relative to the recording's start. Within events blocks they count units of the file header's quantum (100
// ns); everywhere else nanoseconds.
//
// # File
//
//	offset  size
//	0       8     magic: 89 48 54 41 50 0d 0a 1a (a recording that was copied as text does not begin like this)
//	8       u16   major version, 1
//	10      u16   minor version, 0
//	12      u32   flags: features without which the file cannot be read; 1 merged recording, a reader refuses others
//	16      u32   quantum: nanoseconds in a unit of time, 100
//	20      8     0
//	28      u32   checksum of the 28 bytes before
//	32            blocks, one after another, up to the end of the file
//
// # Versions
//
// A reader opens files of every older version, and says of one with a larger major version that heaptap must be
// updated. What is added so that an older reader may skip it (types of blocks, columns of tables, fields of JSON
// objects) raises the minor version: such a reader gives the same answers as before. Anything else raises the major
// version, or sets a flag that an older reader refuses: a flag of the file for all of it, a flag of an events block for
// that block. Columns 16 to 38 of events belong to the major version, since column 1 has a length for each.
//
// testdata holds a recording of every version, which the tests open.
//
// # Block
//
//	0       4     magic: 48 42 4c 4b ("HBLK")
//	4       u16   type
//	6       u16   0
//	8       u32   length of the payload, at most 64 MiB
//	12      u32   number of the block in the file, from 0
//	16      u32   checksum of the payload
//	20      u32   checksum of the 20 bytes before
//	24            payload
//
// Types: 1 process, 2 threads, 3 modules, 4 pcs, 5 nodes, 6 events, 7 samples, 8 symbols, 9 tally, 10 ending, 11 index,
// 12 summary, 13 folded, 14 variables, 15 data sections, 16 resident pages; of merged recordings: 17 inputs,
// 18 timeline, 19 spreads; 20 marks, 21 counts, 22 stack memory, 23 mismatches, 24 regions, 25 pools, 26 ranges,
// 27 resident set, 28 far sums, 29 page readings.
//
// Process comes first. Tables may come in any number of blocks; later entries replace earlier ones with the same id.
// What an events block refers to comes before it, symbols excepted. Where a block's header is damaged, a reader looks
// for the next magic that begins a header with a right checksum, and goes on there.
//
// The payload of process and of ending is a JSON object. That of process is event.Process with its Go names. It may
// come again when more is known; then it replaces the one before. That of ending is
//
//	{"end": ns, "exited": bool, "code": exit status, "signal": number, "status": text,
//	 "health": event.Health with its Go names, "events": number of events in the file}
//
// The other payloads are columns.
//
// # Columns
//
//	varint  length of the head
//	head    varints, by type of block
//	varint  number of columns
//	then for each column: a byte, its id; a byte, 0 if it is stored as it is, 1 if as one zstd frame; varint, its length
//	unpacked (more than 0, at most 16 MiB); varint, its length as stored
//	then the columns' bytes in the same order, up to the end of the payload
//
// A column that is empty is left out. All tables of a file together unpack to no more than 4 MiB and 64 times the
// file's length; a reader need not read more.
//
// # Tables
//
// The head is one varint, the number of entries. Columns, each with one or more values an entry:
//
//	threads   1 zigzag index minus the index before (before the first: 0); 2 varint kernel's thread id; 3 zigzag start;
//	          4 zigzag end: -1 it has not ended; 0, or no such column: unknown; 9 text name
//	modules   1 zigzag id, as difference; 2 varints start, end minus start, bias; 3 zigzags loaded, unloaded (-1:
//	          never); 9 text path, text build id
//	pcs       1 zigzag id, as difference; 2 zigzag address minus the address before (before the first: 0); 3 varint
//	          module id << 1 | interrupted
//	nodes     1 zigzag id, as difference; 2 zigzag id minus parent's id; 3 varint pc id << 1 | truncated
//	samples   16 to 25 zigzag difference to the sample before: time, resident, virtual, swap, proportional, minor
//	          faults, major faults, memory available, cached, threads (25 may be missing: then that is 0, unknown)
//	symbols   1 zigzag pc id, as difference; 2 varint number of frames; 3 for each frame varints function, linkage name,
//	          file; 4 for each frame varint line << 1 | inlined; 9 texts. A text is named by its number in column 9,
//	          counting from 1; 0 is the empty one.
//	variables 1 zigzag module id, as difference: of the first loading of the file; 2 varints address, size; 3 varints
//	          kind (0 .data, 1 .bss, 2 .rodata, 3 .tdata, 4 .tbss, others: another one), name, linkage name, file; 4
//	          varint line; 9 texts, as for symbols
//	data sections
//	          1 zigzag module id, as difference; 2 varints kind, address, length; 3 varints number of variables, bytes
//	          of these
//	resident pages
//	          1 zigzag module id, as difference; 2 zigzag time, varint page size; 3 varint number of ranges that were
//	          looked at, varint number of those that were resident; 4 these ranges, first all that were looked at, then
//	          all that were resident: varint address minus the end of the range before (before the first of each kind:
//	          0), varint length
//	marks     1 zigzag time minus the time before (before the first: 0); 2 varint source (0 program, 1 heaptap ctl,
//	          2 timer, 3 signal, 4 condition, 5 change of mode; a reader skips others), varint thread (of source 0,
//	          else 0); 3 varint number of events before it plus 1; 0: the events before it are those up to and
//	          including its time; 9 text name
//	regions   in the order of the events: 1 zigzag thread, as difference; 2 zigzags time, number of events before it,
//	          number of allocations before it, each minus that of the entry before (before the first: 0); 3 varint name:
//	          of the region entered, or of the outermost one left; 4 varint number of regions that the thread left, from
//	          the innermost on. If it is 0, the thread entered a region, and column 4 has, too: varint how many numbers
//	          (up to 4), zigzag each. 9 texts, as for symbols. Instead of how many numbers, 5 or 6 says that the
//	          thread's next event, an Alloc (5) or a Free (6), happened earlier; then follows a varint: how many of the
//	          thread's latest entries, not counting such ones, came after that event
//	ranges    in the order of the events: 1 zigzag thread, as difference; 2 zigzags time, number of events before it,
//	          each minus that of the entry before (before the first: 0); 3 varint name; 4 zigzag address, as difference,
//	          varint bytes; 9 texts, as for symbols
//	stack memory
//	          1 zigzag thread, as difference; 2 zigzag time minus the time before (before the first: 0); 3 varint
//	          measure (0 deepest at an event, 1 touched, 2 size, as in package event; a reader skips others), varint
//	          bytes; 4 varint stack id (of measure 0, else 0)
//	resident set
//	          what the resident set consisted of; the entries of one time add up to it: 1 zigzag time minus the time
//	          before (before the first: 0); 2 varints kind (0 live blocks, 1 rest of the allocator's memory, 2 mapped by
//	          the program, 3 threads' stacks, 4 static data, 5 files, 6 heaptap's own, others: the rest), resident
//	          bytes, bytes of address space (of live blocks: requested bytes), each below 2^56; 3 varints stack id that
//	          mapped it (of kind 2, 0: several), text: path (of kind 5, else 0); 9 texts, as for symbols
//	mismatches
//	          1 zigzag thread that freed, as difference; 2 zigzag time, likewise; 3 varints mismatch (as in package
//	          event), function that allocated, function that freed, stack id, stack id of the deallocation; 4 varints
//	          number of blocks, and of the first one: size, size that the deallocation was given, alignment, alignment
//	          that it was given
//	pools     2 varints: bytes that serve the pool, the most that ever did, bytes in it, the most that ever were, blocks
//	          in it, allocations, deallocations, bytes allocated; 3 varint text: the name; 9 texts, as for symbols
//	counts    The head has a second varint, the unit of the classes of time in femtoseconds. A block replaces the ones
//	          before. 1 zigzag kernel's thread id, as difference; 2 varints function << 1 | deallocations, calls, failed
//	          calls, bytes requested, usable bytes, ns inside of the allocator, timed calls; 3 varint text: the thread's
//	          name; 4 classes of sizes, then of times: varint how many follow, and for each varint its number minus that
//	          of the one before (before the first: 0), varint calls; 9 texts, as for symbols. Package event says what
//	          the classes are.
//
// Functions 38 to 44 of events are those of the program's own pools: pool_alloc and pool_move allocate in a pool;
// pool_free, pool_move, pool_clear, pool_destroy and "pool memory freed" end such blocks; pool_backing ends any block
// that serves a pool from then on. The leaf of such an allocation's call stack is a pc without a module, with the
// address 7001 0000 0000 0000 plus a number; symbols name it. Two live blocks may have the same address if one or both
// are in pools.
//
// Of the tables from variables on, only counts can replace what came before; the others have no ids. Variables, data
// sections and resident pages are there only for modules of which they are known, and variables only for the largest
// ones.
//
// The tally's payload has an empty head. Its column 2 is package tally's binary form of a summary; if that is longer
// than a column may be, columns 3, 4 and so on continue it. Its numbers are those of the events; a reader that has them
// need not read the events.
//
// # Events
//
// A block has at most 262,144 events and can be read without any other events block. Its head:
//
//	events in the block; number of its first event in the recording; Alloc events in the block; number of the first one
//	in the recording; time of the first event; time of the last minus that; zigzag bytes live before the block; zigzag
//	blocks live before it; zigzag largest number of live bytes after any of its events, or before the first;
//	threads, stacks and shapes in the block; flags (1: addresses are stored; 2: changes are stored; a reader refuses
//	others)
//
// Within a block, each thread has a part of its own in every column from 16 on; the parts follow one another in the
// threads' order. A decoder keeps a position in each part and goes through the events in their order. Columns:
//
//	1   threads: for each thread of the block, in order of first appearance, varint index, and the length of its part of
//	    each of columns 16 to 40, 25 varints
//	2   runs: nibbles, thread (its place in column 1) in the high one, number of its events until another thread follows
//	    in the low one; then, where a nibble is 15, varint the rest: first of the number, then of the thread
//	3   times before events of class 0: for each a nibble, the difference to the event before, of any class; that of the
//	    block's first event is 0. Two events share a byte, the first has the low nibble
//	14  times before other events, likewise
//	15  for each nibble of columns 3 and 14 that is 15, in the order of the events: varint the rest
//	4   stacks: the stack ids of the block, in order of first appearance, as zigzag differences. A local stack is a
//	    place in this list. A stack appears where one of the columns 17, 26 or 33 first names it.
//	5   shapes: three bytes each, kind, function and flags as in package event. Shapes are numbered from 1; there are at
//	    most 254. Flag 32 says that the event was sampled, see below
//	6   sparse: entries of varint events since the entry before (before the first: since the block's first event),
//	    varint mask, and a varint for each bit of the mask, from the lowest: alignment, count, address, old address,
//	    old size, stack id, size, usable size, time of birth, thread of birth, reference, stack id of the
//	    deallocation. They replace what the other columns say of the event.
//	7   with addresses: zigzag distances, where a code of column 36 asks for one, in the order of the events
//	8 to 13  with flag 2: changes of each stack, see below
//	16  runs of classes: nibbles, number of events of class 0 in the low one (only the first may be 0), number of events
//	    of other classes after them in the high one (only the last may be 0). Class 0 is Alloc, Fail and Map, class 1 is
//	    Free, class 2 is Unmatched, Inherited and Unrecorded. The shape tells whether an event is of class 1 or 2
//	39  for each nibble of column 16 that is 15: varint the rest
//
// Class 0, for each event:
//
//	17, 18, 19  local stack: lowest byte; next byte; the rest (lazy)
//	20  size: varint; 0 is the size that the block last had at this stack (in this column or 29; 0 at first), else size
//	    plus 1. A size of 2^64-1 is stored as 0 here and in the sparse column.
//	21  shape (gaps): 0 is the shape that this stack last had in this column; where the stack appears, it is the shape
//	    that this column last gave to any stack
//	23  slack (gaps), if the shape's flags have HasUsable: see below
//	36  Alloc with addresses: a code, see below
//	38  count, of the functions calloc and reallocarray: entries of varint number of such events since the entry
//	    before whose count is predicted, varint count. The prediction is the size divided by the unit of the stack
//	    if that comes out even, else 0. The unit is the size divided by the count of the last such event of any
//	    thread at this stack in the block; it is 0 if that did not come out even, if the count was 0, or if there
//	    was no such event.
//
// Classes 1 and 2:
//
//	22  shape (gaps): 0 is the shape of the thread's event of class 1 or 2 before. Where a Free without the flag Realloc
//	    ends the thread's latest Alloc of this block, the flag Temporary is inverted in the shape.
//	33, 34, 35  local stack of the deallocation plus 1, in three bytes (all lazy); 0 is none
//
// Class 1:
//
//	25  reference: a byte, 0 to 63: how many Allocs lie between this event and the one it refers to, counting those of
//	    all threads: 0 is the latest Alloc before this event; 64: see column 40
//	40  zigzag difference to the number of the allocation that was this thread's last one in this column (before the
//	    first: the block's first allocation number)
//
// If that allocation is in this block and before this event, stack, size, usable size (if HasUsable), time and thread
// of birth and address are the allocation's. Otherwise the Free is far and has:
//
//	26, 27, 28  local stack, as 17 to 19
//	29  size, as 20
//	30  slack (gaps), if the shape's flags have HasUsable
//	31  time of birth: zigzag difference to that of the thread's far Free before (before the first: the block's first
//	    time)
//	32  thread of birth: varint; 0 is the same thread, else index plus 1
//	37  with addresses: zigzag difference to the thread's far Free before
//
// A nibble is four bits, a number from 0 to 14. 15 stands for 15 plus the rest, which is elsewhere.
//
// Lazy columns have a byte for each event and leave out the zeros at the end of each thread's part. Columns of gaps
// have an entry for each byte that is not 0: varint number of zeros since the entry before, and the byte.
//
// Slack is usable minus requested size. A table of 1024 entries, chosen by the size modulo 1024, each a byte now and a
// byte other, all 0 at the block's start, predicts the code of a slack: 0 stands for the entry's now, 1 to 254 for a
// slack of 0 to 253, 255 for one in column 24, as zigzag. After each code of column 23 except 255, the predicted ones
// included: if code equals other or now is 0, now becomes code; other becomes code.
//
// Addresses of allocations are predicted, since allocators hand out again what was freed. The likely usable size of a
// block is its size plus what the entry of the table of slack, after the allocation's own code, stands for with its
// now; if that is 0 or 255, its size (0 for one of 2^64-1). There are 1024 classes; a block's is its likely usable size
// divided by 16, modulo 1024. A class has a list of freed blocks, and its end; a thread has an end; all lists are empty
// and all ends are 0 at the block's start. Codes:
//
//	0 to 31  the freed block in this place of the list, the latest one being in place 0; it leaves the list
//	32       the thread's end
//	33       the class's end
//	34       the thread's end plus 16 times a distance of column 7
//	35       the thread's end plus a distance of column 7
//
// After that, the thread's end and the class's are the address plus the likely usable size, rounded up to a multiple of
// 16. A Free puts the address of the block into the list of the class that its allocation had; if it is far, of the
// class that it would have now. A list keeps the 32 latest ones.
//
// # Samples
//
// An Alloc with flag 32 was chosen at random; the Free that ends its block has the flag, too. In all that follows, and
// in the live bytes and blocks of heads, it does not count as one block of its size, but as an estimate of the blocks
// and bytes that it stands for. Both are integers, and the same for the Free. The process has Sampling, {"Bytes": mean,
// "Seed": number} or {"Calls": mean, "Seed": number}. From it comes the probability p with which the Alloc was chosen:
// 1 - exp(-max(size, 1) / mean), or 1 / mean; 1 if there is neither. If p is 1, it counts as 1 block of its size. Else
// blocks are 1/p and bytes size/p, in double precision, rounded up if the fraction is larger than r, else down; 2^62 at
// most. r is computed modulo 2^64 from n, which is 2 * number of the allocation for blocks, and one more for bytes, xor
// Seed (0 if there is none):
//
//	n = (n + 1) * 9e3779b97f4a7c15
//	n = (n xor n >> 30) * bf58476d1ce4e5b9
//	n = (n xor n >> 27) * 94d049bb133111eb
//	r = ((n xor n >> 31) >> 11) / 2^53
//
// Slack and lifetimes of such a block count as often as its estimated blocks.
//
// # Changes and summaries
//
// Changes say what a run of events changed at each call stack, so that questions about a range of time need not decode
// its events. Deallocations count at the stack of the allocation that they end. Columns, each with a number for each
// stack:
//
//	8   varint allocations
//	9   zigzag allocations minus deallocations
//	10  varint bytes, requested by the allocations
//	11  zigzag bytes minus freed bytes, minus mean times (allocations minus deallocations)
//	12  zigzag top minus its guess; top is the largest value of bytes minus freed bytes after any event of the run, at
//	    least 0: what was live before plus top is the stack's own peak within the run. The guess is the larger one of
//	    mean and of bytes minus freed bytes; 0 if there are no allocations
//	13  varint deallocations of temporary allocations
//
// Mean is bytes divided by allocations, rounded down; 0 if there are none.
//
// The changes of two runs, one after the other, combine: the numbers add up, and the top of both is the larger one of
// the first's top, and of the first's bytes minus freed bytes plus the second's top.
//
// A block of events has changes for the stacks of its column 4, in that order, unless it has fewer than three events a
// stack. A summary has the changes of several blocks of events in a row. Its head:
//
//	level; number of the first block of events, counting those of the file from 0; number of the blocks; stacks; number
//	of the first event; events; time of the first event; time of the last minus that; zigzag bytes live before; zigzag
//	blocks live before; zigzag largest number of live bytes after any of the events, or before the first
//
// Its columns are 1, the stack ids, rising, as zigzag differences (the first: to 0), and 8 to 13. A stack at which
// nothing was allocated or freed is left out. A summary of level 1 comes after every sixteenth block of events and
// sums up these sixteen; one of level n + 1 comes after every sixteenth one of level n, and sums up these. There are
// six levels. Columns 8 to 13 of a block unpack to no more than 4 MiB and 64 times the file's length.
//
// Without summaries, or with some of them missing, a file gives the same answers, only more slowly.
//
// # Far sums
//
// A table of far sums says of the far Frees of up to 16 blocks of events in a row in which block the allocations are.
// So one knows without decoding what of the blocks that were allocated in some blocks of events is live at a later
// moment. It comes after these blocks. Its head:
//
//	number of the first block of events, counting those of the file from 0; number of the blocks; number of the first
//	event; events; shift; sums
//
// Columns, each with a number for each sum, by rising block of the Frees, falling group, rising stack:
//
//	1   zigzag stack id minus the one before (before the first: 0)
//	2   varint block of the Frees, counting from the table's first one, minus the one before
//	3   varint groups between that of the Frees' block and that of the allocations' block. A group is 2^shift blocks;
//	    block 0 is in group 0
//	4   varint Frees
//	5   zigzag bytes freed minus what is guessed: Frees times the mean size, rounded down, of the sum before it of that
//	    stack in the table; 0 if there is none
//
// The writer makes shift larger where a table would take too much of the file, and leaves it out if that does not help.
// The first block of events has no far Frees; a file with no other block needs no table. Older versions of heaptap
// wrote none.
//
// # Page readings
//
// Which pages of the process's private writable memory without a file were in memory, at moments of the run. A
// reading is a list of areas (mappings that were looked at; nothing is known of other memory) and a list of runs of
// pages within them. Each is stored as what differs from the reading before, every 64th as what differs from nothing.
// The head:
//
//	readings in the block; number of the first one in the recording; 1 if that differs from the reading before it, 0 if
//	from nothing; its time; time of the last minus that; ns of a processor's time that all took; bytes of a page
//
// Columns, of which addresses and lengths are in units of 4096 bytes:
//
//	1   zigzags time minus the time before (before the first: 0), ns of a processor's time
//	2   varints number of areas that are in one of the two readings only, number of runs of pages likewise
//	3   these areas, by start and then by end: zigzag start minus the one before (before the first of each reading: 0),
//	    varint length
//	4   these runs, ascending: varint start minus the end of the one before (before the first of each reading: 0),
//	    varint length. Touching runs are one
//
// A reading that differs from nothing is the first one of its block. Areas of one reading do not overlap, and its pages
// are whole and lie within them. Neither
// list has more than 524,288 entries.
//
// # Merged recordings
//
// A file with flag 1 has the sums of several recordings, and no events, summaries and samples. Its process and ending
// hold what these have in common; the start is the first one's. Threads are known by their names and have no ids.
// Modules have no addresses of their own; they lie one after another. A file with one input that has a Format was
// imported from another tool's file, which has sums only. If the statistics are in more than one block, the later ones
// have only further stacks. Times of peaks are 0. Further blocks, in this order:
//
//	inputs    Head: number of inputs. Column 2: JSON, a list of objects, Input with its Go names.
//	timeline  Head: 1 if times are those of the wall clock since 1970, 0 if they are those since each process's start.
//	          Column 2: JSON, Timeline with its Go names.
//	spreads   A table: 1 zigzag stack id, as difference; 2 varint number of inputs that have the stack; 3 and 4, for
//	          each of live at the peak, bytes, allocations, leaked bytes, two varints each: in 3 the least and the
//	          most of an input that has the stack, in 4 the numbers of these two inputs, from 0.
//
// # Folded blocks
//
// A folded block says that older blocks were given up, to bound a long recording's size. It has no columns. Its head:
//
//	type of the blocks; level, if they are summaries, else 0; number below which all such blocks are folded; then why:
//	for how many ns events were to be kept, 0 for no such bound; how many bytes the file was to take on disk at most, 0
//	for no such bound
//
// A folded block keeps its header and its payload's head (far sums only their header). The rest reads as zeros or, if
// the recorder ended in between, as it was. Only events and summaries that are part of a summary of the next level are
// folded, the far sums of these events, and tallies that are followed by another. Before a folded block of events comes
// a tally block with the statistics of all events up to there. As long as there is no ending, a reader adds the events
// that follow to it.
//
// # Index
//
// The last block of a finished recording. Head: the number of blocks before it. Columns: 1 varint type of each block, 2
// varint length of its payload, 3 u32 checksum of its payload, 4 the head of each events block, 5 the head of each
// summary. Then, as the last 16 bytes of the payload and of the file: u64 offset of the index block, and "HTAPEND\n". A
// file without it is read block by block.
//
// # Example
//
// A program with one thread called malloc(100) twice, from one place, and freed the first block. The recording was
// flushed, but not finished: there is no statistics block, no ending and no index. Offsets and bytes are hexadecimal.
//
//	0000  89 48 54 41 50 0d 0a 1a                 magic
//	0008  01 00 00 00 00 00 00 00                 version 1.0, no flags
//	0010  64 00 00 00 00 00 00 00 00 00 00 00     unit of time 100 ns
//	001c  5e c0 1d 2f                             checksum
//	0020  48 42 4c 4b 01 00 00 00                 block: process
//	0028  76 00 00 00 00 00 00 00                 118 bytes, number 0
//	0030  9f 55 00 45 ee 26 a1 d7                 checksums of payload and header
//	0038  "{"PID":7,"Parent":0,"Exe":"","Args":["a"],"Dir":"","Host":"","Env":null,"Arch":"","Started":0,"Agent
//	009c  "":0,"Recorder":""}
//	00ae  48 42 4c 4b 02 00 00 00                 block: threads
//	00b6  1e 00 00 00 01 00 00 00                 30 bytes, number 1
//	00be  cd 4d 85 39 ba 2a 95 7a
//	00c6  01 01                                   head of one byte: 1 entry
//	00c8  05                                      5 columns:
//	00c9  01 00 01 01 02 00 01 01                 columns 1 and 2: as they are, 1 byte each
//	00d1  03 00 02 02 04 00 01 01                 column 3: 2 bytes; column 4: 1 byte
//	00d9  09 00 02 02                             column 9: 2 bytes
//	00dd  00 07 c8 01 00 01 61                    index 0; thread id 7; start 100 ns; end unknown; name "a"
//	00e4  48 42 4c 4b 04 00 00 00                 block: pcs
//	00ec  13 00 00 00 02 00 00 00
//	00f4  bd 41 51 2d ea a3 c2 6d
//	00fc  01 01 03                                1 entry, 3 columns:
//	00ff  01 00 01 01 02 00 02 02 03 00 01 01
//	010b  02 e8 48 00                             id 1; address 1234; module 0, not interrupted
//	010f  48 42 4c 4b 05 00 00 00                 block: nodes
//	0117  12 00 00 00 03 00 00 00
//	011f  b3 f2 30 ae c4 32 f5 27
//	0127  01 01 03                                1 entry, 3 columns:
//	012a  01 00 01 01 02 00 01 01 03 00 01 01
//	0136  02 02 02                                id 1; 1 more than its parent's: a root; pc 1
//	0139  48 42 4c 4b 06 00 00 00                 block: events
//	0141  9a 00 00 00 04 00 00 00
//	0149  be 13 24 99 80 9b 7a 44
//	0151  0e                                    head of 14 bytes:
//	0152  03 00 02 00                           3 events from number 0 on, 2 allocations from number 0 on
//	0156  01 06                                 from 100 ns to 600 ns later
//	0158  00 00 90 03                           nothing live before; at most 200 bytes
//	015c  01 01 02 02                           1 thread, 1 stack, 2 shapes; changes are stored
//	0160  14                                    20 columns:
//	0161  01 00 1a 1a 02 00 01 01 03 00 01 01   threads, runs, times of allocations
//	016d  0e 00 01 01 04 00 01 01 05 00 06 06   times of others, stacks, shapes
//	0179  08 00 01 01 09 00 01 01 0a 00 02 02   changes
//	0185  0b 00 01 01 0c 00 02 02 0d 00 01 01
//	0191  10 00 01 01 11 00 02 02 12 00 02 02   classes, stack
//	019d  14 00 02 02 15 00 02 02 16 00 02 02   size, shape, shape of deallocation
//	01a9  17 00 02 02 19 00 01 01               slack, reference
//	01b1  00                                    1: thread 0; of column 16 it has 1 byte, and so on
//	01b2  01 02 02 00 02 02 02 02 00 01 00 00 00
//	01bf  00 00 00 00 00 00 00 00 00 00 00 00
//	01cb  03                                    2: the thread with place 0, 3 events
//	01cc  20                                    3: at the block's first time; 200 ns later
//	01cd  04                                    14: 400 ns later
//	01ce  02                                    4: stack 1
//	01cf  00 01 02 01 12 00                     5: Alloc by malloc, HasUsable; Free by free
//	01d5  02 02 c8 01 00 c8 01 00               8 to 13: 2 allocations, 1 more than deallocations; 200 bytes, 100 more
//	                                            than freed, as guessed; top 200, 100 more than guessed; none temporary
//	01dd  12                                    16: 2 events of class 0, then 1 other
//	01de  00 00 00 00                           17, 18: local stack 0, twice
//	01e2  65 00                                 20: size 100; the same
//	01e4  00 01                                 21: after no zeros, shape 1
//	01e6  00 02                                 22: after no zeros, shape 2
//	01e8  00 05                                 23: after no zeros, slack 4; then the prediction is right
//	01ea  01                                    25: the latest allocation but one
package recording
