// Package sampler reads how much memory processes have, as the kernel counts it: the resident set and its relatives,
// the mappings that it lies in, which pages of the programs' files are in memory, and how far down the threads' stacks
// were ever touched.
//
// What to look at is in a process's Layout, which the worker keeps up to date. What was read goes to its Sink.
//
// The rule: a reading is the process's own. It is dropped if the process executes another program before all of it was
// read. Reading slows down with a process's age, and while nothing changes; what costs more is read for a hundredth of
// the time at most (a tenth while the resident set grows).
package sampler
