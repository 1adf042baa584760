package cfi

import (
	"bytes"
	"errors"
	"fmt"
)

// common is a common information entry (CIE): what several functions share.
type common struct {
	program       span
	codeAlign     uint64
	dataAlign     int64
	returnAddress uint64 // the register, or its column
	encoding      byte   // of addresses
	sized         bool   // entries of functions have augmentation data, which begins with its size
}

// function is a frame description entry (FDE): what is known about one function.
type function struct {
	start, size uint64
	program     span
}

// span is a part of the section.
type span struct{ from, to int }

// maxAugmentation limits the augmentation string: compilers write up to 6 characters ("zPLRS").
const maxAugmentation = 16

var errForged = errors.New("invalid call frame information")

// begin reads the length of the entry at an offset and returns a reader of the entry's contents, and the size of its
// offsets in bytes. The size is 0 at the terminator.
func (t *table) begin(at int) (r reader, width int, err error) {
	r = reader{data: t.data, at: at, addr: t.addr}
	length := r.fixed(4)
	if width = 4; length == 0xffffffff {
		length, width = r.fixed(8), 8
	}
	if r.bad || length > uint64(len(r.data)-r.at) {
		return r, 0, fmt.Errorf("%w: the entry at offset %#x is truncated", errForged, at)
	}
	if length == 0 {
		return r, 0, nil
	}
	r.data = r.data[:r.at+int(length)]
	return r, width, nil
}

// common reads the CIE at an offset.
func (t *table) common(at int) (c common, err error) {
	r, width, err := t.begin(at)
	if err != nil {
		return c, err
	}
	fail := func(what string) (common, error) {
		return common{}, fmt.Errorf("%w: the common entry at offset %#x %s", errForged, at, what)
	}
	if width == 0 || r.fixed(width) != 0 {
		return fail("is not one")
	}
	version := r.byte()
	if version != 1 && version != 3 && version != 4 {
		return fail(fmt.Sprintf("has the unknown version %d", version))
	}
	rest := r.data[min(r.at, len(r.data)):]
	n := bytes.IndexByte(rest[:min(len(rest), maxAugmentation)], 0)
	if n < 0 {
		return fail("has an augmentation that does not end")
	}
	augmentation := rest[:n]
	r.skip(uint64(n) + 1)
	if version == 4 {
		r.skip(2) // sizes of an address and of a segment selector
	}
	c.codeAlign, c.dataAlign = r.uleb(), r.sleb()
	if c.returnAddress = r.uleb(); version == 1 && c.returnAddress > 127 {
		return fail("has an unknown return address")
	}
	if n > 0 {
		if augmentation[0] != 'z' {
			return fail(fmt.Sprintf("has the unknown augmentation %q", augmentation))
		}
		size := r.uleb()
		data := r
		if r.skip(size); r.bad {
			return fail("is truncated")
		}
		data.data = r.data[:r.at]
		c.sized = true
		c.encoding, err = addressEncoding(data, augmentation[1:])
		if err != nil {
			return fail(err.Error())
		}
	}
	c.program = span{r.at, len(r.data)}
	if r.bad {
		return fail("is truncated")
	}
	return c, nil
}

// addressEncoding returns the encoding of addresses that augmentation data specify.
func addressEncoding(r reader, augmentation []byte) (encoding byte, err error) {
	for _, ch := range augmentation {
		switch ch {
		case 'R':
			if encoding = r.byte(); encoding&peIndirect != 0 {
				return 0, errors.New("has pointers to addresses")
			}
		case 'L':
			r.byte()
		case 'P':
			if e := r.byte(); e != peOmit {
				r.pointer(e)
			}
		case 'S', 'B', 'G': // a signal frame; of arm64: other keys, tagged frames
		default:
			return encoding, nil // the sizes of what follows are unknown, but that of all
		}
		if r.bad {
			return 0, errors.New("is truncated")
		}
	}
	return encoding, nil
}

// function reads the FDE at an offset, and its CIE. ok is false if the entry is a CIE or the terminator. The next
// entry is at next; at the end of the section, next is its length.
func (t *table) function(at int) (f function, ok bool, next int, err error) {
	r, width, err := t.begin(at)
	if err != nil {
		return f, false, 0, err
	}
	if width == 0 {
		return f, false, len(t.data), nil
	}
	next = len(r.data)
	here := r.at
	back := r.fixed(width)
	if r.bad {
		return f, false, 0, fmt.Errorf("%w: the entry at offset %#x is truncated", errForged, at)
	}
	if back == 0 {
		return f, false, next, nil
	}
	if back > uint64(here) {
		return f, false, 0, fmt.Errorf("%w: the entry at offset %#x has no common entry", errForged, at)
	}
	if origin := here - int(back); !t.known || origin != t.last {
		if t.shared, err = t.common(origin); err != nil {
			return f, false, 0, err
		}
		t.last, t.known = origin, true
	}
	f.start = r.pointer(t.shared.encoding)
	f.size = r.pointer(t.shared.encoding & peFormat)
	if t.shared.sized {
		r.skip(r.uleb())
	}
	f.program = span{r.at, len(r.data)}
	if r.bad {
		return f, false, 0, fmt.Errorf("%w: the entry at offset %#x is truncated", errForged, at)
	}
	return f, f.start != 0 && f.size != 0, next, nil // linkers drop functions by setting their addresses to 0
}
