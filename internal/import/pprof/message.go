package pprof

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// field is one of a message in Protocol Buffers.
type field struct {
	number int
	packed bool   // bytes is set; else value
	value  uint64 //
	bytes  []byte
	at     int // where it begins in the file
}

var errEnds = errors.New("the message ends too early")

// each hands over the fields of a message that begins at a byte of the file. An error says at which byte.
func each(b []byte, at int, take func(f *field) error) error {
	for i := 0; i < len(b); {
		f := field{at: at + i}
		n, err := f.read(b[i:])
		if err != nil {
			return fmt.Errorf("byte %d: %w", f.at, err)
		}
		i += n
		if err := take(&f); err != nil {
			return err
		}
	}
	return nil
}

// read reads one field, and returns its length.
func (f *field) read(b []byte) (int, error) {
	key, n := binary.Uvarint(b)
	if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
		return 0, errors.New("a field of a message is expected")
	}
	f.number = int(key >> 3)
	v, size := binary.Uvarint(b[n:])
	switch key & 7 {
	case 1:
		if len(b)-n < 8 {
			return 0, errEnds
		}
		f.value = binary.LittleEndian.Uint64(b[n:])
		return n + 8, nil
	case 5:
		if len(b)-n < 4 {
			return 0, errEnds
		}
		f.value = uint64(binary.LittleEndian.Uint32(b[n:]))
		return n + 4, nil
	case 0:
		if size <= 0 {
			return 0, errEnds
		}
		f.value = v
		return n + size, nil
	case 2:
		if size <= 0 || v > uint64(len(b)-n-size) {
			return 0, errEnds
		}
		n += size
		f.packed, f.bytes = true, b[n:n+int(v)]
		f.at += n
		return n + int(v), nil
	}
	return 0, fmt.Errorf("a field of the type %d, which profiles do not have", key&7)
}

// numbers appends the numbers of a field, which is one, or several packed into one.
func (f *field) numbers(list []uint64) ([]uint64, error) {
	if !f.packed {
		return append(list, f.value), nil
	}
	for b := f.bytes; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("byte %d: %w", f.at+len(f.bytes)-len(b), errEnds)
		}
		list = append(list, v)
		b = b[n:]
	}
	return list, nil
}

// numbersTo takes the fields of a message that are numbers: the first field to the first place, and so on. Others are left out.
func (f *field) numbersTo(places ...*uint64) error {
	return each(f.bytes, f.at, func(f *field) error {
		if f.number <= len(places) {
			*places[f.number-1] = f.value
		}
		return nil
	})
}
