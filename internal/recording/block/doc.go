// Package block encodes and decodes the blocks of events of a recording, and the summaries of what they change.
//
// An Encoder turns events into the columns of one block after another. A block that is full is sealed. A Packer packs
// the Sealed block, on another goroutine, while the Encoder fills the next one. A Decoder reads a block; it needs no
// other block. Encoder and Decoder make the same predictions, of sizes, slack and addresses (placement), and store only
// what differs. What a block, or a run of blocks (summary), changes at a call stack is a Change.
//
// The format is specified in package recording.
package block
