// Package lines reads text line by line, and says where in it something is wrong.
package lines

import (
	"bufio"
	"fmt"
	"io"
)

// maxLine is how long a line may be, in bytes: as long as a name or a command line.
const maxLine = 16 << 20

// Each hands over the lines of a text, without their ends. It returns their number. An error of take, or of reading, gets the number of
// the line that it is about.
func Each(in io.Reader, take func(text string) error) (number int, err error) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		number++
		if err := take(s.Text()); err != nil {
			return number, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := s.Err(); err != nil {
		return number, fmt.Errorf("after line %d: %w", number, err)
	}
	return number, nil
}
