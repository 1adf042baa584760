package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Rows is a list whose elements are made on demand: each may have a call stack with all of its frames.
type Rows[T any] struct {
	n  int
	at func(i int) T
}

// Len is the number of rows.
func (r Rows[T]) Len() int { return r.n }

// At makes a row.
func (r Rows[T]) At(i int) T { return r.at(i) }

// Slice makes all rows.
func (r Rows[T]) Slice() any {
	list := make([]T, r.n)
	for i := range list {
		list[i] = r.at(i)
	}
	return list
}

// MarshalJSON makes all rows. Write needs less memory.
func (r Rows[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := r.write(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// write writes an array. It makes and writes the rows one at a time.
func (r Rows[T]) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteByte('[')
	var text bytes.Buffer
	for i := range r.n {
		text.Reset()
		if err := encode(&text, r.at(i)); err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		if _, err := out.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n"))); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return out.Flush()
}

// Write writes an answer as one JSON object. It never holds all rows of a large answer in memory.
func Write(w io.Writer, answer any) error {
	if a, ok := answer.(interface{ write(io.Writer) error }); ok {
		return a.write(w)
	}
	return encode(w, answer)
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeRows writes an answer, whose field "rows" is empty, with rows in their place.
func writeRows[T any](w io.Writer, empty any, rows Rows[T]) error {
	var text bytes.Buffer
	if err := encode(&text, empty); err != nil {
		return err
	}
	const field = `"rows":`
	before, after, _ := strings.Cut(text.String(), field+"[]") // within a text, quotes are escaped
	if _, err := io.WriteString(w, before+field); err != nil {
		return err
	}
	if err := rows.write(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, after)
	return err
}
