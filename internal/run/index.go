package run

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const longestLine = 1 << 20

// indexLine is a line of the index; one of its fields is set.
type indexLine struct {
	Begin *Program        `json:"begin,omitempty"`
	N     *int            `json:"n,omitempty"`
	Now   json.RawMessage `json:"now,omitempty"`
	Over  bool            `json:"over,omitempty"`
}

// encodeLine returns a line of the index.
func encodeLine(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(b)+10 > longestLine {
		return nil, fmt.Errorf("a line of %d bytes is too long for an index", len(b))
	}
	line := make([]byte, 0, len(b)+10)
	line = fmt.Appendf(line, "%08x ", crc32.Checksum(b, castagnoli))
	return append(append(line, b...), '\n'), nil
}

// decodeLine reads a line without its newline.
func decodeLine(line []byte) (l indexLine, err error) {
	var sum [4]byte
	if len(line) < 10 || line[8] != ' ' {
		return l, errors.New("it is not a line of an index")
	}
	if _, err := hex.Decode(sum[:], line[:8]); err != nil {
		return l, errors.New("it is not a line of an index")
	}
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	if crc32.Checksum(line[9:], castagnoli) != want {
		return l, errors.New("its checksum is wrong")
	}
	return l, json.Unmarshal(line[9:], &l)
}

// index is what the whole lines of an index say.
type index struct {
	programs []Program
	over     bool
	length   int64 // bytes up to the end of the last whole line
	broken   error // what is wrong with the line after it; nil: there is none
}

// read reads the whole lines that follow those that were read before.
func (x *index) read(from io.ReaderAt, size int64) error {
	x.broken = nil
	in := bufio.NewReaderSize(io.NewSectionReader(from, x.length, size-x.length), 1<<16)
	var long []byte
	for {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if long = append(long, line...); len(long) > longestLine {
				x.broken = errors.New("a line is too long")
				return nil
			}
			continue
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = nil
		}
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF:
			x.broken = errors.New("the last line is cut short")
			return nil
		case err != nil:
			return err
		}
		if err := x.take(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			x.broken = err
			return nil
		}
		x.length += int64(len(line))
	}
}

// take takes a line.
func (x *index) take(line []byte) error {
	l, err := decodeLine(line)
	switch {
	case err != nil:
		return err
	case l.Begin != nil:
		if err := l.Begin.check(); err != nil {
			return err
		}
		x.programs = append(x.programs, *l.Begin)
		x.over = false
	case l.N != nil:
		if *l.N < 0 || *l.N >= len(x.programs) {
			return fmt.Errorf("there is no program %d", *l.N)
		}
		old := &x.programs[*l.N]
		p := *old
		p.Command, p.Packed = nil, nil // their memory may be another reader's; that of Levels is never changed
		if err := json.Unmarshal(l.Now, &p); err != nil {
			return err
		}
		if p.Command == nil {
			p.Command = old.Command
		}
		if p.Packed == nil {
			p.Packed = old.Packed
		}
		if err := p.check(); err != nil {
			return err
		}
		x.programs[*l.N] = p
		x.over = false
	case l.Over:
		x.over = true
	}
	return nil
}
