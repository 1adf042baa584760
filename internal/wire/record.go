package wire

import "encoding/binary"

// Record is one decoded record. Value is word 1. Time is word 2, or word 1 of a short record; an extra has no time.
type Record struct {
	Addr  uint64
	Kind  uint8
	Slack uint8
	Size  uint32
	Stack uint32
	Value uint64
	Time  uint64
}

// Class returns the class of a kind.
func Class(kind uint8) int { return int(kind >> ClassShift) }

// RecordSize returns the length of a record that begins with word 0, or 0 if there is no such class.
func RecordSize(w0 uint64) int {
	// Three bits of the word select a byte: two bytes for each class; class 3 has kinds up to 223.
	return int(uint64(0x0010_1010_1010_1818) >> (w0 >> (KindShift + ClassShift - 1) & 7 * 8) & 0xff)
}

// Word0 packs the first word of a record.
func Word0(addr uint64, kind, slack uint8) uint64 {
	return addr&AddrMask | uint64(kind)<<KindShift | uint64(slack)<<SlackShift
}

// Decode decodes the record at the start of b and returns its length; 0 if b does not hold a whole record of a known
// class.
func Decode(b []byte, r *Record) int {
	if len(b) < 16 {
		return 0
	}
	w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	*r = Record{Addr: w0 & AddrMask, Kind: uint8(w0 >> KindShift), Slack: uint8(w0 >> SlackShift)}
	switch Class(r.Kind) {
	case ClassStack:
		if len(b) < 24 {
			return 0
		}
		r.Size, r.Stack = uint32(w1), uint32(w1>>32)
		r.Value, r.Time = w1, binary.LittleEndian.Uint64(b[16:])
		return 24
	case ClassShort, ClassNote:
		r.Value, r.Time = w1, w1
		return 16
	case ClassExtra:
		r.Value = w1
		return 16
	}
	return 0
}

// Append appends a record to b. What the record's class does not store is left out.
func Append(b []byte, r Record) []byte {
	b = binary.LittleEndian.AppendUint64(b, Word0(r.Addr, r.Kind, r.Slack))
	switch Class(r.Kind) {
	case ClassStack:
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Size)|uint64(r.Stack)<<32)
		return binary.LittleEndian.AppendUint64(b, r.Time)
	case ClassShort, ClassNote:
		return binary.LittleEndian.AppendUint64(b, r.Time)
	}
	return binary.LittleEndian.AppendUint64(b, r.Value)
}

// FirstTime returns the timestamp of the first event in b, a sequence of whole records; 0 if there is none.
func FirstTime(b []byte) uint64 {
	for r := (Record{}); ; {
		n := Decode(b, &r)
		if n == 0 || Class(r.Kind) != ClassExtra {
			return r.Time
		}
		b = b[n:]
	}
}

// Events counts the events in b, a sequence of whole records: extras belong to the event that follows them. It stops at
// the first invalid record. bytes is the length up to there.
func Events(b []byte) (events, bytes int) {
	for len(b)-bytes >= 16 {
		w0 := binary.LittleEndian.Uint64(b[bytes:])
		n := RecordSize(w0)
		if n == 0 || n > len(b)-bytes {
			break
		}
		if w0>>(KindShift+ClassShift)&3 < ClassExtra {
			events++
		}
		bytes += n
	}
	return events, bytes
}
