// Package profile answers questions about a recording as a whole: its sums, and which call stacks stand out.
//
// Load makes a Profile from a recording; it is then only read. It has every call stack that allocated, with its sums
// (package tally defines the numbers) and its functions. A stack is named by its frames, leaf to root; the leaf is the
// function that called the allocator. One address on a stack stands for several frames if functions were inlined there.
//
// Stacks differ by address. Two calls on one source line are two stacks, and so is the same call in two copies of a
// function. For people, Groups merges the stacks whose frames have the same text.
//
// Some blocks are live at every end because the runtime keeps them: the loader's own tables, the C++ library's
// emergency pool. They count in every total, but their stacks are of class Runtime, so that a list of leaks can leave
// them out and say so.
package profile
