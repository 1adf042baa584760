// Package merge sums up many recordings in one: the ranks of a parallel program, the processes of a build, the runs of
// a test.
//
// The result is a recording of sums: totals, call stacks, threads, and a timeline of all processes together. It has no
// events, and questions that need them are refused. It can be merged again; the order of recordings and the number of
// steps do not change the result by a byte.
//
// A call stack is the same in two recordings if its addresses have the same offsets in the same modules and the same
// names. Modules are identified by build id or, without one, by path; code without a module (compiled at run time) and
// threads by name.
//
// Recordings are read one after the other. Memory grows with the number of different call stacks, and by some hundred
// bytes for each recording, which the result lists.
//
// # The peak
//
// Processes reach their peaks at different moments. The merged peak is the sum of the processes' peaks: the memory that
// is needed if all peaks coincide. What they had together at one moment is at most that. The timeline bounds it: within
// a step, it is at most the sum of each process's maximum in that step; at the end of a step it is exact. See
// recording.Merged.Peak.
package merge
