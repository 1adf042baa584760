// Package whole reads files that cannot be taken in piece by piece.
package whole

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSize is how much a file may be, unpacked, in bytes.
const maxSize = 1 << 30

// Bytes reads all there is.
func Bytes(in io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("after byte %d: %w", len(b), err)
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("more than %d bytes, which is the most that is read", maxSize)
	}
	return b, nil
}

// JSON reads one JSON value. An error says at which byte.
func JSON(in io.Reader, v any) error {
	b, err := Bytes(in)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	err = d.Decode(v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return fmt.Errorf("byte %d: %s: %s where %s is expected", kind.Offset, kind.Field, kind.Value, kind.Type)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("byte %d: the file ends too early", len(b))
	case err != nil:
		return err
	}
	if rest := bytes.TrimSpace(b[d.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("byte %d: more than one value", d.InputOffset())
	}
	return nil
}
