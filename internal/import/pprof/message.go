package pprof

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message of Protocol Buffers.
type field struct {
	number int
	packed bool   // bytes is set; else value
	value  uint64 //
	bytes  []byte
	at     int // offset in the file
}

var errEnds = errors.New("the message ends too early")

// each calls take with the fields of a message that begins at a byte of the file. An error says at which byte.
func each(b []byte, at int, take func(f *field) error) error {
	var f field // reused
	for i := 0; i < len(b); {
		f = field{at: at + i}
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
	number, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, errors.New("expected a field of a message")
	}
	f.number = int(number)
	size := 0
	switch b = b[n:]; typ {
	case protowire.VarintType:
		f.value, size = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.value, size = protowire.ConsumeFixed64(b)
	case protowire.Fixed32Type:
		var v uint32
		v, size = protowire.ConsumeFixed32(b)
		f.value = uint64(v)
	case protowire.BytesType:
		f.bytes, size = protowire.ConsumeBytes(b)
		f.packed = true
		f.at += n + size - len(f.bytes)
	default:
		return 0, fmt.Errorf("a field of type %d, which profiles do not have", typ)
	}
	if size < 0 {
		return 0, errEnds
	}
	return n + size, nil
}

// numbers appends the numbers of a field, one or several packed ones, as long as the list has at most most.
func (f *field) numbers(list []uint64, most int) ([]uint64, error) {
	if !f.packed {
		list = append(list, f.value)
	}
	for b := f.bytes; len(b) > 0 && len(list) <= most; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("byte %d: %w", f.at+len(f.bytes)-len(b), errEnds)
		}
		list = append(list, v)
		b = b[n:]
	}
	if len(list) > most {
		return nil, fmt.Errorf("byte %d: more than %d numbers", f.at, most)
	}
	return list, nil
}

// numbersTo stores the numeric fields of a message: the first field in the first place, and so on. Others are ignored.
func (f *field) numbersTo(places ...*uint64) error {
	return each(f.bytes, f.at, func(f *field) error {
		if f.number <= len(places) {
			*places[f.number-1] = f.value
		}
		return nil
	})
}
