// Package notes keeps what is said about a process beside its events: marks, regions of its threads, and names of
// memory.
//
// The rule: a note lies in the recording between the events between which it was made. Each kind has a limit, beyond
// which notes are dropped, and the recording says so. After a recorder has died, the journal may bring the notes at the
// last event that counts again; those that the recording has already are known by being equal.
package notes
