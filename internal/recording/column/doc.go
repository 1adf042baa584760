// Package column encodes the numbers and texts of a recording's blocks. The payload of a block is a head of varints and
// columns, each of which is packed on its own. A Payload builds a payload; a Set reads one. If the block is a table, a
// Table lists the fields of its rows once, for writing and for reading.
//
// A file may be forged: whatever it holds, nothing here panics or takes much more memory than the lengths of its
// columns, which Set bounds.
package column
