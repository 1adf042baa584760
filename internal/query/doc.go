// Package query answers questions about a recording. Tables, trees, time series, histograms: whatever shows a recording
// asks here, so that the same question has the same answer everywhere.
//
// A Source is an open recording. A Query says which part of it counts: a range of time, blocks by their thread, size
// and lifetime, call stacks by the frames on them; what is grouped, and which metrics are wanted. A shape puts the
// answer into a form: Flat, TopDown, BottomUp, Sandwich, Series, Histogram, Matrix. Questions change nothing and may be
// asked concurrently.
//
// What a query counts is, first, events within its range: allocations and what belongs to them (bytes, slack, sizes,
// time), and deallocations and what belongs to them (lifetimes, temporaries), at the call stack of the allocation.
// Second, it is blocks at a moment: what is live at a cut, what was live at the range's peak, what was allocated in the
// range and never freed. Of both only what the filters select. docs/queries.md defines every metric.
//
// A group has two values of each metric: self, of the stacks on which it is the leaf, and total, of the stacks on which
// it is anywhere. A function that calls itself counts once. Inlined functions are frames of their own. Selves sum up to
// the whole; at each node of a tree, the totals of its children and its self sum up to its total.
//
// An answer comes from the cheapest of three plans that has it: the statistics of the whole run that the recording
// holds, the summaries of what each stretch of events changed, or the events themselves. All three give the same
// numbers, and Answer.Plan says which it was.
//
// Blocks of events are decoded on all processors. What counts them is a collector: it makes a sum of each block by
// itself, and puts the sums together in the order of the blocks. What depends on earlier blocks (own peaks, the time
// since a thread's allocation before, by which function an older block was allocated) is kept in a form that can be put
// together so.
package query
