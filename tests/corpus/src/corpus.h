// corpus.h: what the programs of the corpus share.
//
// A line that begins with "//=" is a fact: a function, and the numbers of all the call stacks that it is on, by the
// names of `heaptap top --metric` (self-allocations and self-bytes: of those on which it called the allocator itself).
// The name "all" is the whole process, "maps" its mapping changes as in the report's .maps. A program may print further
// facts, which only it can know, in the same form.
#ifndef CORPUS_H
#define CORPUS_H

// Keeps the compiler from leaving out an allocation of which nothing is read.
static inline void *used(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

#endif
