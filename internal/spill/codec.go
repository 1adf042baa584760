// Package spill packs records that wait on disk because the recorder is behind. That takes about a third of the bytes
// and a few nanoseconds an event, so that a burst of many gigabytes costs little.
//
// A block holds whole records of one stream and is packed independently. An event takes whole bytes, little-endian, and
// is relative to the events before it in the block:
//
//	1 byte  flags
//	2       difference to the time before
//	2-8     address. Its bits 4 to 47, with bits 0 to 3 as the highest four of 64, are a number: the signed difference to the
//	        number before
//	0-3     stack, exclusive or with the stack before
//	0-3     size; none for what has neither size nor stack
//	0-2     kind and slack; none if they are those of the latest event in this block with the same lowest byte of the size
//
// and its flags say how many:
//
//	bits 0-2  bytes of the address, halved: 1, 2 or 4; 0: no event, or one as it is
//	bit 3     kind and slack are there
//	bits 4-5  bytes of the stack: 0, 1 or 3
//	bits 6-7  bytes of the size
//
// Without an address, the flags are one of three numbers: 0: a record as it is (what is too far from what was before,
// and all that is rare); 8 or 16: an extra, of which a byte with the kind and 2 or 8 bytes with the value follow. 40
// bytes of padding end the block, so that a reader may load an event anywhere.
//
// Lengths and offsets follow from the loaded values by additions only, without branches, because allocations and
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
	flagLong  = 16 // with one of eight
	padding   = 40
	most      = 24 // bytes of a record that is packed
)

// Slack is the room that Decode needs in its destination beyond its output.
const Slack = most

// ErrDamaged says that a block cannot be unpacked.
var ErrDamaged = errors.New("a block of spilled records is damaged")

// Bound returns the largest packed size of n bytes of records.
func Bound(n int) int { return n + n/8 + 64 }

// number converts a record's first word into the form of which differences are taken: most addresses are multiples of
// 16, and heaps are small.
func number(w0 uint64) uint64 { return bits.RotateLeft64(w0<<16, -20) }

// address is the inverse of number.
func address(q uint64) uint64 { return bits.RotateLeft64(q, 20) >> 16 }
