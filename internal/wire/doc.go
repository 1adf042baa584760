// Package wire is the Go mirror of agent/src/wire.h: everything that the agent and the recorder share, to the bit.
//
// The header is authoritative. A test compiles it and compares every size, offset and constant with this package, so a
// change of one side alone fails. The structs here are laid over mapped memory that another process writes at the same
// time: the users of this package (package spool) read fields that may change with package sync/atomic, and trust
// nothing before they have copied and checked it.
//
// The package does not know what the numbers mean to a profiler; see package record for that.
package wire
