// Command bench measures what heaptap costs, beside the bare program, a shim that only forwards (src/shim.c) and
// Debian's heaptrack, and writes docs/performance.md.
//
//	go run ./bench [-o docs/performance.md] [-reps 7] [-only REGEXP] [-heaptap BINARY] [-rivals=false] [-go=false] [-large EVENTS]
//
// A workload runs in several variants, in turn, again and again, and the medians are compared, so that a machine that
// slows down for a while does so for all of them. What counts is CPU time of the target alone, taken by a small program
// (src/cpu.c) that starts it: a recorder, an interpreter or a compressor beside it shows in other columns.
//
// The synthetic workloads (tests/programs/src/w.c) time their own loop, after a warm-up, and are judged by CPU ns per pair
// of malloc and free beyond the shim; the real programs by their whole CPU time against the bare run. Rivals do a tenth
// of a synthetic workload's pairs: their cost per pair is the same.
package main
