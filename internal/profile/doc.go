// Package profile answers questions about a recording: what it sums up to, and which call stacks stand out.
//
// A Profile is made from a recording by Load and is then only read. It has every call stack that allocated, with what
// it sums up to (package tally defines the numbers) and the functions on it. A stack is named by its frames, leaf to
// root; the leaf is the function that called the allocator. One address on a stack stands for several frames where
// functions were inlined.
//
// Stacks differ by address. Two calls on one source line are two stacks, and so is the same call in two copies of a
// function. For people, Groups merges the stacks whose frames read the same.
//
// Some blocks are live at every end because the runtime wants it so: the loader's own tables, the C++ library's
// reserve for exceptions. They count in every total, but their stacks are of class Runtime, so that a list of leaks can
// leave them out and say so.
package profile
