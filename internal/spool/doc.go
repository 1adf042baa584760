// Package spool reads the file through which an agent hands over its events: while the target runs, after it died, or
// years later.
//
// A spool (agent/src/wire.h, package wire) holds arrays that grow by segments, and streams: one per thread, each a
// sequence of chunks. A Reader goes round the streams and hands every byte of records to a Sink exactly once, in the
// order of its stream. A chunk lies in the pool, or its writer has moved on without waiting for the reader: then it is
// found in the spill file by the stream's number and its own; or it could not be written there either and is gone, which
// the writer has counted. Chunks that were read are given back to the writers. Records are not interpreted here.
//
// Tables reads what the records refer to: program counters, call stacks, modules. It may be used by another goroutine
// than the Reader.
//
// The writer is another process, which may die at any instant and whose memory may be overwritten by its own bugs. So
// nothing is believed: what is read is copied first and checked after; indexes, sizes and offsets are bounded; a
// chunk counts only if it bears the expected stream and number after it was copied; a file that shrinks while it is
// mapped gives an error and no fault (see guard). What cannot be understood is left out and said, and the rest is read.
package spool
