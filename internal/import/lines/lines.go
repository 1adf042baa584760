// Package lines reads text line by line, and says where in it something is wrong.
package lines

import (
	"bufio"
	"fmt"
	"io"
)

// maxLine is how long a line may be, in bytes: as long as a name or a command line.
const maxLine = 16 << 20

// manyLines is how many lines a text may have, however short they are: each takes time.
const manyLines = 1 << 22

// Each hands over the lines of a text, without their ends. It returns their number. An error of take, or of reading,
// gets the number of the line that it is about.
func Each(in io.Reader, take func(text string) error) (number int, err error) {
	return EachBytes(in, 8, func(text []byte) error { return take(string(text)) })
}

// EachBytes is Each without a copy of each line: text is valid until take returns. Beyond manyLines, lines must have at
// least so many bytes on average.
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
