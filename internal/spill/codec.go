// Package spill packs records that wait on disk because the recorder is behind. Packing saves two thirds of the bytes
// and costs a few nanoseconds per event, so that a burst of many gigabytes is affordable.
//
// A block holds whole records of one stream and is packed independently. An event takes whole bytes, little-endian, and
// is relative to the events before it in the block:
//
//	1 byte  flags
//	2       difference to the previous time
//	2-8     address: bits 4 to 47, then bits 0 to 3 as the highest four of 64 bits, make a number; stored is the
//	        signed difference to the previous number
//	0-3     stack, exclusive or with the previous stack
//	0-3     size; none for records without size and stack
//	0-2     kind and slack; none if they are those of the latest event in this block with the same lowest byte of size
//
// The flags say how many bytes each part has:
//
//	bits 0-2  bytes of the address, halved: 1, 2 or 4; 0: no event, or an unpacked one
//	bit 3     kind and slack are stored
//	bits 4-5  bytes of the stack: 0, 1 or 3
//	bits 6-7  bytes of the size
//
// Without an address, the flags are one of three numbers. 0: an unpacked record (rare, or too far from the previous
// one). 8 or 16: an extra, followed by a byte with the kind and 2 or 8 bytes with the value. 40 bytes of padding end
// the block, so that a reader may load an event anywhere.
//
// Lengths and offsets follow from the loaded values by additions only. There are no branches, because allocations and
// deallocations alternate without a pattern that a processor could predict.
package spill

import (
	"errors"
	"math/bits"
)

// Version is the version of the packed form, for files that outlive the recorder.
const Version = 2

const (
	flagRaw   = 0
	flagShort = 8  // an extra with a value of two bytes
	flagLong  = 16 // an extra with a value of eight bytes
	padding   = 40
	most      = 24 // bytes of the longest record that is packed
)

// Slack is the room that Decode needs in its destination beyond its output.
const Slack = most

// ErrDamaged says that a block cannot be unpacked.
var ErrDamaged = errors.New("a block of spilled records is damaged")

// Bound returns the largest packed size of n bytes of records.
func Bound(n int) int { return n + n/8 + 64 }

// number converts a record's first word into the form whose differences are stored: most addresses are multiples of 16,
// and heaps are small.
func number(w0 uint64) uint64 { return bits.RotateLeft64(w0<<16, -20) }

// address is the inverse of number.
func address(q uint64) uint64 { return bits.RotateLeft64(q, 20) >> 16 }
