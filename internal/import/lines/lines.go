// Package lines reads text line by line, and says in which line an error is.
package lines

import (
	"bufio"
	"fmt"
	"io"
)

// maxLine limits the length of a line, in bytes: a name or a command line may be long.
const maxLine = 16 << 20

// manyLines limits the number of short lines: each takes time.
const manyLines = 1 << 22

// Each calls take with the lines of a text, without their ends. It returns the number of lines. An error of take, or of
// reading, is prefixed with the number of its line.
func Each(in io.Reader, take func(text string) error) (number int, err error) {
	return EachBytes(in, 8, func(text []byte) error { return take(string(text)) })
}

// EachBytes is Each without a copy of each line: text is valid until take returns. If there are more than manyLines,
// lines must have at least least bytes on average.
func EachBytes(in io.Reader, least int, take func(text []byte) error) (number int, err error) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	bytes := 0
	for s.Scan() {
		number++
		if bytes += len(s.Bytes()) + 1; number > manyLines+bytes/least {
			return number, fmt.Errorf("line %d: more than %d lines that are shorter than any tool writes them", number,
				manyLines)
		}
		if err := take(s.Bytes()); err != nil {
			return number, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := s.Err(); err != nil {
		return number, fmt.Errorf("after line %d: %w", number, err)
	}
	return number, nil
}
