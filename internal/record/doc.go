// Package record turns one run into recordings: it finds the spools that the run's processes make, drains them, has the
// records put in order and settled by ledgers, and writes one recording per process image.
//
//	spools --drain--> messages --worker--> order > settle: ledger > recording
//
// The drain (run.go, drain.go) is one goroutine for all spools of the run. It waits for nothing but the kernel: not for
// a ledger, not for a recording's disk. What it takes is copied into the run's store (package journal), which is
// bounded in memory; beyond that the data lies in spill files, and beyond their limit events are counted as lost. So a
// target waits for the recorder only as long as copying takes.
//
// A worker (worker.go) is one goroutine per spool. The drain, and the sampler, send it messages (messages.go): pieces
// of streams, rounds, processes that begin and end, and what is to be said about them. It delivers each in its turn, so
// that what belongs to a process needs no lock.
//
// A process (process.go) is the way of one process image from pieces to a recording. It is made of parts, each with its
// own rule: a Merger (package order) hands on batches of records, Settle (settle.go) has the ledger settle them and the
// writer write them, and what is found beside the events is in packages of its own (stacks, pairs, pools, notes, watch,
// symbols).
//
// The rules: a process belongs to its worker, a spool and its members to the drain; what both need is sent. A process's
// recording is finished when the process is gone or has executed another image; the run is over when the main process
// has ended and no process has a spool of the run mapped (package procs).
package record
