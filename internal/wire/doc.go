// Package wire is the Go mirror of agent/src/wire.h: everything that the agent and the recorder share, to the bit.
//
// The header is the law. A test compiles it and compares every size, offset and constant with this package, so a change
// of one side alone does not pass. The structs here are laid over mapped memory that another process writes at the same
// time: fields that it may change are read with package sync/atomic by the users of this package (package spool), and
// nothing read from them is to be trusted before it was copied and checked.
//
// What the numbers mean to a profiler is not known here; see package record for that.
package wire
