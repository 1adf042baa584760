// Package spool reads the file through which an agent passes its events: while the target runs, after it died, or years
// later.
//
// A spool (agent/src/wire.h, package wire) holds arrays that grow by segments, and streams: one per thread, each a
// sequence of chunks. A Reader visits the streams in rounds and passes every byte of records to a Sink exactly once, in
// the order of its stream. A chunk is normally in the pool. If its writer moved on without waiting for the reader, the
// chunk is in the spill file, under its stream's uid and its own number. If it could not be written there either, it is
// lost, and its writer has counted it. Chunks that were read are returned to the writers. This package does not
// interpret records.
//
// Tables reads what the records refer to: program counters, call stacks, modules. Reader and Tables may be used by
// different goroutines.
//
// The writer is another process, which may die at any instant and whose bugs may overwrite the spool. So nothing in it
// is trusted: data is copied first and checked afterwards; indexes, sizes and offsets are bounded; a chunk counts only
// if the copy has the expected stream and number; a mapped file that shrinks gives an error instead of a fault (see
// guard). Whatever cannot be understood is skipped and reported, and the rest is read.
package spool
