// Package record turns one run into recordings: it finds the spools that the run's processes make, drains them, puts
// the events in order, matches them in ledgers, samples memory and writes one recording per process image.
//
//	spools --drain--> queue --worker--> merge > ledger > tally, recording
//
// One goroutine drains all spools of the run and waits for nothing but the kernel: not for a ledger, not for a
// recording's disk. What it takes is copied into a queue, which is bounded in memory; beyond that the data lies in
// spill files, and beyond their limit events are counted as lost. So a target waits for the recorder only as long as
// copying takes.
//
// One worker per spool reads that queue. It merges the streams of each process by time with the help of rounds: the
// drain reads the clock, makes all writers' earlier stores visible (membarrier) and then looks at every stream. A
// stream whose writer is not amid an event will never show an event older than that clock reading; one whose writer is
// holds back the merge at the time of its previous event, but not for more than about a second (see
// spool.Reader.Patience). What comes later than that is marked late. All before the bound is final and goes to the
// ledger.
//
// A process's recording is finished when the process is gone or has executed another image; the run is over when the
// main process has ended and no process has a spool of the run mapped.
package record
