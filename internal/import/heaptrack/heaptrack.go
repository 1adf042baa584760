// Package heaptrack reads heaptrack's data files, interpreted, of versions 1 to 3, and writes them as a recording. See
// package export/heaptrack for their format.
//
// They have no threads: all events belong to one thread. They have the size and call stack of a deallocated block, but
// not which block it was: of several, the youngest is assumed, so that temporary allocations are as close to the truth
// as possible. Live bytes, peaks and leaks do not depend on that. The functions that were called are unknown: malloc
// and free are assumed. Times are in ms.
package heaptrack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/recording"
)

// Is reports whether a file with this beginning, decompressed, is heaptrack's.
func Is(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) != 3 || string(fields[0]) != "v" {
		return false
	}
	for _, f := range fields[1:] {
		if _, err := strconv.ParseUint(string(f), 16, 32); err != nil {
			return false
		}
	}
	return true
}

// Import reads a file, decompressed, and writes a recording of it to path. recorder is the program that the recording
// names as its writer. After an error, path may hold an unusable file.
func Import(in io.Reader, path, recorder string) (err error) {
	r := reader{path: path, recorder: recorder}
	defer func() {
		if err != nil && r.w != nil {
			err = errors.Join(err, r.w.Abort())
		}
	}()
	number, err := lines.EachBytes(in, 4, r.line)
	if err != nil {
		return err
	}
	if r.w == nil {
		return fmt.Errorf("line %d: the file ends before the command line (X)", number)
	}
	return r.finish()
}

// reader is the state of reading a file.
type reader struct {
	path, recorder string
	w              *recording.Writer
	version        uint64
	tables
	live    live
	rss     rss
	now     int64 // ns
	page    uint64
	bytes   int      // read so far
	numbers []uint64 // of the current line
}

// line takes a line.
func (r *reader) line(text []byte) error {
	r.bytes += len(text) + 1
	if len(text) == 0 || text[0] == '#' {
		return nil
	}
	of, rest := text[0], bytes.TrimPrefix(text[1:], []byte(" "))
	switch {
	case of == 'v':
		return r.head(rest)
	case of == 'X':
		return r.create(string(rest))
	case r.w == nil:
		return fmt.Errorf("%.40q before the command line (X)", text)
	case of == 's':
		return r.name(rest)
	case of == 'A', of == 'S': // attached to a running process; known leaks
		return nil
	case of == 'x', of == 'm':
		return errors.New("this is raw data of heaptrack; convert it with heaptrack_interpret")
	}
	var err error
	if r.numbers, err = hexNumbers(r.numbers[:0], rest); err != nil {
		return fmt.Errorf("%.80q: %w", text, err)
	}
	if need := least[of]; need == 0 || len(r.numbers) < need {
		return fmt.Errorf("%.80q is not understood", text)
	}
	return r.entry(of, r.numbers)
}

// least is the least number of numbers in a line, by its first character; 0: there is no such line.
var least = [256]int{'i': 2, 't': 2, 'a': 2, '+': 1, '-': 1, 'c': 1, 'R': 1, 'I': 2}

// entry takes a line of numbers.
func (r *reader) entry(of byte, n []uint64) error {
	switch of {
	case '+':
		return r.alloc(n[0])
	case '-':
		return r.free(n[0])
	case 'c':
		ms := min(n[0], math.MaxInt64/uint64(time.Millisecond))
		r.now = max(r.now, int64(ms)*time.Millisecond.Nanoseconds())
		return nil
	case 'R':
		if n[0] < math.MaxInt64/max(r.page, 1) {
			r.rss.add(r.w, r.now, int64(n[0]*r.page))
		}
		return nil
	case 'I':
		r.page = n[0]
		return nil
	}
	return r.define(of, n)
}

// alloc takes an allocation; n is the number of its size and call stack.
func (r *reader) alloc(n uint64) error {
	i, err := r.info(n)
	if err != nil {
		return err
	}
	if err := r.live.push(&i.youngest, r.now); err != nil {
		return err
	}
	return r.w.Event(&event.Event{Time: r.now, Kind: event.Alloc, Func: event.Malloc, Stack: i.stack, Size: i.size,
		Ref: event.NoRef})
}

// free ends the youngest of the blocks that it may be.
func (r *reader) free(n uint64) error {
	i, err := r.info(n)
	if err != nil {
		return err
	}
	ref, born, ok := r.live.pop(&i.youngest)
	if !ok {
		return errors.New("more deallocations than allocations of this size and call stack")
	}
	e := event.Event{Time: r.now, Kind: event.Free, Func: event.FreeFunc, Stack: i.stack, Size: i.size, Ref: ref,
		Born: born}
	if ref+1 == r.live.allocs {
		e.Flags = event.Temporary
	}
	return r.w.Event(&e)
}

// hexNumbers appends the numbers of a line.
func hexNumbers(list []uint64, text []byte) ([]uint64, error) {
	for i := 0; i < len(text); {
		if blank(text[i]) {
			i++
			continue
		}
		begin, n := i, uint64(0)
		for ; i < len(text) && !blank(text[i]); i++ {
			d := digits[text[i]]
			if d == 0 || n>>60 != 0 {
				return nil, fmt.Errorf("%.40q is not a hexadecimal number", bytes.Fields(text[begin:])[0])
			}
			n = n<<4 | uint64(d-1)
		}
		list = append(list, n)
	}
	return list, nil
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// digits are the values of hexadecimal digits, plus 1.
var digits = func() (d [256]uint8) {
	for i, c := range "0123456789abcdef" {
		d[c] = uint8(i + 1)
	}
	for i, c := range "ABCDEF" {
		d[c] = uint8(i + 11)
	}
	return d
}()
