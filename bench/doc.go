// Command bench measures what heaptap costs in all of its modes, beside the bare program, a shim that only forwards
// (src/shim.c) and other profilers, and writes docs/performance.md and the charts in docs/performance.
//
//	go run ./bench [-o docs/performance.md] [-reps 5] [-only REGEXP] [-heaptap BINARY] [-rivals=false] [-go=false] [-large EVENTS]
//	go run ./bench -slow -o docs/performance.md
//	go run ./bench -big 1e9 -o docs/performance.md
//	go run ./bench -quick
//
// A workload runs in several variants, in turn, again and again, and what a variant adds is taken run by run, so that a
// machine that slows down for a while does so for all of them. What counts is CPU time of the target alone, taken by a small program
// (src/cpu.c) that starts it: a recorder, an interpreter or a compressor beside it shows in other columns.
//
// The synthetic workloads (tests/programs/src/w.c) time their own loop, after a warm-up, and are judged by CPU ns per pair
// of malloc and free beyond the shim; the real programs by their whole CPU time against the bare run. A profiler that
// brings an allocator of its own is compared with that allocator. heaptrack does a tenth of a synthetic workload's pairs: its cost per
// pair is the same.
//
// Rivals that are more than ten times slower than the program run by themselves (-slow), once, on a tenth of all input, and
// have a section of the page, which the main run keeps; so has what is asked of a recording of 10^9 events (-big).
package main
