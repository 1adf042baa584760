// Package column is how the blocks of a recording store numbers and texts. A block's payload is a head of varints and
// columns, each of them packed on its own: a Payload builds one, a Set takes one apart. Where a block is a table, a
// Table lists the fields of its rows once, for writing and for reading.
//
// What is read may be forged: nothing here panics, or takes memory out of proportion to what a column claims, which Set
// bounds.
package column
