// Package replay plays a recording's events against other allocators, and measures them.
//
// The events become a plan: for each thread a stream of operations, in a file that the player reads piece by
// piece. A plan says everything in advance: in which slot of one table a block is while it lives, for which
// other thread an operation has to wait, when a thread starts. The player (agent/player, a small C program) takes it
// operation by operation, and decides nothing.
//
//	Make      a recording -> a Plan, a file
//	Measure   a Plan, allocators -> Results: runs of the player, interleaved; medians and spreads
//
// What the player itself costs is measured with an allocator that does nothing, and subtracted. What a recording does
// not say (which pages of its blocks a program touched, memory that it mapped itself) is not replayed.
package replay
