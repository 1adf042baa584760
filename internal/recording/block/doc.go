// Package block encodes and decodes the blocks of events of a recording, and the summaries of what they change.
//
// An Encoder turns events into the columns of one block after another. When a block is full it is sealed: a Sealed
// block is complete, and a Packer packs it, on another goroutine, while the Encoder fills the next one. A Decoder reads
// a block back; it knows of no other block but by its Head. Both keep the same predictions, of sizes, slack and
// addresses (placement), so that mostly nothing has to be written. What a block, or a run of blocks (summary), changes
// is told by call stack: a Change each.
//
// The format is specified in package recording.
package block
