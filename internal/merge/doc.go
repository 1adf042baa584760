// Package merge makes one recording of many: of the ranks of a parallel program, the processes of a build, the runs of
// a test.
//
// What comes out is a recording of sums: totals, call stacks and threads, and how all processes developed together. It
// has no events, and says so when asked for what needs them. It may be merged again; in whatever order recordings are
// merged, and in however many steps, the outcome is the same, to the byte.
//
// A call stack is the same in two recordings if its addresses are: the same offset in the same module, which its build
// id tells, or, where it has none, its path; and read the same. What has no module, as code made at run time, is told
// by its name. Threads are told by their names.
//
// Recordings are read one after the other. Memory grows with the number of different call stacks, and by some hundred
// bytes for each recording, which the outcome lists.
//
// # The peak
//
// Processes reach their peaks at moments of their own. The merged peak, and what stacks had live at it, is the sum of
// the processes' peaks: as much memory as is needed if all have their peaks at once. What they had together at one
// moment is less or as much. The timeline bounds it: in each of its steps, the sum of the most that each process had is
// no less than what they had together, and at the end of a step it is known exactly. See recording.Merged.Peak.
package merge
