// Package journal makes the recorder's death harmless. What was drained from a spool is not in the spool any more, and
// not in a recording until its block of events is written. Until then its pieces lie in a Store, whose memory is a file
// in the run's folder, and in spill files with names. A State says how far a process's recording is.
//
// The rule: at any moment, each record that was drained is in the journal or in a recording's events up to the latest
// checkpoint of its State. So a piece is released only after a checkpoint that covers it.
//
// All of it outlives the recorder. ReadStates and ReadPieces return it to the process that continues from there.
package journal
