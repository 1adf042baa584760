// Package query answers questions about a recording. Every command that shows a recording asks here, so that the same
// question has the same answer everywhere.
//
// A Source is an open recording. A Query selects a part of it: a range of time, blocks by thread, size and lifetime,
// call stacks by the frames on them. It also says what is grouped, and which metrics are wanted. Each function answers
// in one form: Flat, TopDown, BottomUp, Sandwich, Develop, Distribute, Cross. Questions change nothing and may be asked
// concurrently.
//
// A query counts two things. First, events within its range: allocations with their bytes, slack, sizes and times, and
// deallocations with their lifetimes, at the call stack of the allocation. Second, blocks at a moment: what is live at
// a cut, what was live at the range's peak, what was allocated in the range and never freed. Of both, only what the
// filters select counts. docs/queries.md defines every metric.
//
// A group has two values of each metric: self, of the stacks on which it is the leaf, and total, of the stacks on which
// it is anywhere. A recursive function counts once. Inlined functions are frames of their own. The selves of all groups
// sum up to the whole. At each node of a tree, its self and the totals of its children sum up to its total.
//
// An answer comes from the cheapest of three plans that suffices: the tally of the whole run, the summaries of blocks
// of events, or the events themselves. All three give the same numbers. Answer.Plan says which one it was.
//
// Blocks of events are decoded on all processors. A collector counts them: it sums up each block by itself, and then
// joins the sums in the order of the blocks. Sums that depend on earlier blocks (own peaks, the time since a thread's
// previous allocation, the function that allocated an older block) are kept in a form that can be joined like that.
package query
