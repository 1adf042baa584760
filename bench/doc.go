// Command bench measures the costs of heaptap in all of its modes, beside the bare program, a shim that only forwards
// calls (src/shim.c), a reduced copy of the agent's hot path (src/sketch.c) and other profilers. It writes
// docs/performance.md and the charts in docs/performance.
//
//	go run ./bench [-o docs/performance.md] [-reps 5] [-only REGEXP] [-heaptap BINARY]
//		[-rivals=false] [-go=false] [-large EVENTS]
//	go run ./bench -slow -o docs/performance.md
//	go run ./bench -big 1e9 -o docs/performance.md
//	go run ./bench -all -o docs/performance.md
//	go run ./bench -ui -o docs/performance.md [-recordings FOLDER] [FILE...]
//	go run ./bench -quick
//
// A workload runs in its variants in turn, again and again. What a variant adds is computed run by run, so that a
// machine that slows down for a while affects all variants alike. The main number is the CPU time of the target alone,
// measured by a small program (src/cpu.c) that starts it. Recorders, interpreters and compressors have columns of their
// own.
//
// The synthetic workloads (tests/programs/src/w.c) time their own loop, after a warm-up. Their cost is in CPU ns per
// pair of malloc and free, beyond the shim's. The cost of real programs is their whole CPU time against the bare run. A
// profiler with an allocator of its own is compared with that allocator. heaptrack runs only a tenth of a synthetic
// workload's pairs; its cost per pair is the same.
//
// Rivals that slow down the program more than ten times run separately (-slow), once, on a tenth of all input. They
// have a section of the page, which the main run keeps. So have the recording of 10^9 events (-big), the questions
// of the web app (-ui), and the costs in all of larger programs and short commands (-all).
package main
