// Package heaptrack reads heaptrack's data files, interpreted, of versions 1 to 3, and writes what they tell as a recording. See package
// export/heaptrack for their form.
//
// They have no threads: all events are one thread's. They say of which size and call stack a deallocated block was, not which block: of
// several, it is taken for the youngest, so that what is temporary is as close to the truth as can be known. Live bytes, peaks and leaks
// do not depend on that. Which functions were called is not told: they are taken for malloc and free. Times are in ms.
package heaptrack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/recording"
)

// Is reports whether a file, of which this is the beginning after decompression, is one of heaptrack's.
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

// Import reads a file, decompressed, and makes a recording of it at path. recorder says in the recording who wrote it. With an error, what
// is at path, if anything, is of no use.
func Import(in io.Reader, path, recorder string) (err error) {
	r := reader{}
	defer func() {
		if err != nil && r.w != nil {
			err = errors.Join(err, r.w.Abort())
		}
	}()
	number, err := lines.EachOf(in, 4, func(text string) error { return r.line(text, path, recorder) })
	if err != nil {
		return err
	}
	if r.w == nil {
		return fmt.Errorf("line %d: the file ends before it says what was run", number)
	}
	return r.finish()
}

// reader is what was read so far.
type reader struct {
	w       *recording.Writer
	version uint64
	strings []string
	modules map[string]*event.Module // by path
	frames  map[uint32][]event.Frame // by pc
	pcs     uint64
	stacks  uint64
	infos   []info
	now     int64 // ns
	page    uint64
	latest  uint64 // number of the latest allocation, plus 1
	allocs  uint64
	bytes   int // that were read
}

// maxEntries is how many names, addresses, call stacks and allocations at these a file may have, however short it is.
const maxEntries = 1 << 20

// proportionate holds that the tables do not get out of proportion to the file: most of one are events.
func (r *reader) proportionate() error {
	if n := uint64(len(r.strings)+len(r.infos)) + r.pcs + r.stacks; n > maxEntries+uint64(r.bytes)/24 {
		return fmt.Errorf("%d names, addresses and call stacks in %d bytes, as in no file of heaptrack's", n, r.bytes)
	}
	return nil
}

// info is a size at a call stack.
type info struct {
	size  uint64
	stack uint32
	live  []block
}

type block struct {
	ref  uint64
	born int64
}

// line takes in a line.
func (r *reader) line(text, path, recorder string) error {
	r.bytes += len(text) + 1
	if text == "" || text[0] == '#' {
		return nil
	}
	if err := r.proportionate(); err != nil {
		return err
	}
	of, rest := text[0], strings.TrimPrefix(text[1:], " ")
	switch of {
	case 'v':
		return r.head(rest)
	case 'X':
		return r.create(rest, path, recorder)
	}
	if r.w == nil {
		return fmt.Errorf("%.40q before what was run is told (X)", text)
	}
	switch of {
	case 's':
		return r.name(rest)
	case 'A', 'S': // attached to a process that ran already; leaks that are known
		return nil
	case 'x', 'm':
		return errors.New("this is heaptrack's raw data; heaptrack_interpret makes of it what can be read")
	}
	numbers, err := hexNumbers(rest)
	if err != nil {
		return fmt.Errorf("%.80q: %w", text, err)
	}
	need, known := map[byte]int{'i': 2, 't': 2, 'a': 2, '+': 1, '-': 1, 'c': 1, 'R': 1, 'I': 2}[of]
	if !known || len(numbers) < need {
		return fmt.Errorf("%.80q is not understood", text)
	}
	return r.numbers(of, numbers)
}

func (r *reader) numbers(of byte, n []uint64) error {
	switch of {
	case 'i':
		return r.address(n)
	case 't':
		return r.stack(n[0], n[1])
	case 'a':
		if n[1] > r.stacks {
			return fmt.Errorf("call stack %x of %x", n[1], r.stacks)
		}
		r.infos = append(r.infos, info{size: n[0], stack: uint32(n[1])})
	case '+':
		return r.alloc(n[0])
	case '-':
		return r.free(n[0])
	case 'c':
		ms := min(n[0], math.MaxInt64/uint64(time.Millisecond))
		r.now = max(r.now, int64(ms)*time.Millisecond.Nanoseconds())
	case 'R':
		if n[0] < math.MaxInt64/max(r.page, 1) {
			r.w.Sample(event.Sample{Time: r.now, RSS: int64(n[0] * r.page), Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1,
				SystemFree: -1, SystemCached: -1})
		}
	case 'I':
		r.page = n[0]
	}
	return nil
}

// hexNumbers are the numbers of a line.
func hexNumbers(text string) (list []uint64, err error) {
	for f := range strings.FieldsSeq(text) {
		n, err := strconv.ParseUint(f, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40q is no hexadecimal number", f)
		}
		list = append(list, n)
	}
	return list, nil
}
