// Package whole reads files that cannot be read piece by piece.
package whole

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSize limits the unpacked size of a file, in bytes.
const maxSize = 1 << 30

// Bytes reads everything.
func Bytes(in io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("after byte %d: %w", len(b), err)
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("more than %d bytes, which is the limit", maxSize)
	}
	return b, nil
}

// Object reads one JSON object and nothing else. For each known field, its function takes the value from the decoder;
// other fields are skipped. Only one value at a time is in memory. An error says at which byte.
func Object(in io.Reader, fields map[string]func(d *json.Decoder) error) error {
	from := &source{in: in}
	d := json.NewDecoder(from)
	from.d = d
	err := Fields(d, fields)
	if err == nil {
		if _, end := d.Token(); end == nil {
			err = errors.New("more than one value")
		} else if !errors.Is(end, io.EOF) {
			err = end
		}
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("byte %d: %s: %s, expected %s", d.InputOffset(), kind.Field, kind.Value, kind.Type)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("byte %d: the file ends too early", d.InputOffset())
	case err != nil:
		return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	return nil
}

// maxValue limits the bytes of a value that is decoded at once, unlike a list whose elements are. Such a value is in
// memory until it ends.
const maxValue = 16 << 20

// source is what a decoder reads.
type source struct {
	in   io.Reader
	d    *json.Decoder
	read int64
}

func (s *source) Read(p []byte) (int, error) {
	if s.read-s.d.InputOffset() > maxValue {
		return 0, fmt.Errorf("a value of more than %d MB", maxValue>>20)
	}
	n, err := s.in.Read(p)
	s.read += int64(n)
	return n, err
}

// MaxFrames limits the frames of all call stacks of a file.
const MaxFrames = 1 << 24

// MaxEntries limits the frames of a table, and the call stacks of a file.
const MaxEntries = 1 << 20

// AtMost returns an error if there are more than most items.
func AtMost(n, most int, of string) error {
	if n > most {
		return fmt.Errorf("more than %d %s", most, of)
	}
	return nil
}

// Fields reads the next value, an object.
func Fields(d *json.Decoder, fields map[string]func(d *json.Decoder) error) error {
	if err := open(d, '{'); err != nil {
		return err
	}
	for n := 0; d.More(); n++ {
		if n > manyValues {
			return fmt.Errorf("an object of more than %d fields", manyValues)
		}
		name, err := d.Token()
		if err != nil {
			return err
		}
		take := fields[name.(string)] // the decoder guarantees a string
		if take == nil {
			take = func(d *json.Decoder) error { return d.Decode(&json.RawMessage{}) }
		}
		if err := take(d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// Limit on the number of an array's values, unless these have enough bytes on average. Each value takes memory and
// time, which for short ones is out of proportion to the file.
const manyValues = 1 << 18

// Each reads the next value, an array: take takes each element from the decoder. If there are many, they must have
// least bytes on average. null is an empty array.
func Each(d *json.Decoder, least int64, take func(i int) error) error {
	token, err := d.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%v, expected a list", token)
	}
	begin := d.InputOffset()
	for i := 0; d.More(); i++ {
		if int64(i) > manyValues+(d.InputOffset()-begin)/least {
			return fmt.Errorf("a list of more than %d values that are shorter than any tool writes them", manyValues)
		}
		if err := take(i); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func open(d *json.Decoder, with json.Delim) error {
	token, err := d.Token()
	if err == nil && token != with {
		err = fmt.Errorf("%v, expected %v", token, with)
	}
	return err
}
